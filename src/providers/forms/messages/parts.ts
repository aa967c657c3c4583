// Blocks of a user's message or of a tool's result as parts of chat.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import type { Carries } from '../ability.ts';
import { isKeptCitation } from './kept.ts';
import type { Lost } from './lost.ts';

/** @param path of the content, for what is lost */
export function partsOf(
  blocks: readonly JsonObject[],
  path: string,
  carries: Carries,
  lost: Lost,
): JsonObject[] {
  return blocks.flatMap((block) => partOf(block, path, carries, lost));
}

/** One text alone as a text: some wires take nothing else. */
export function contentOf(parts: readonly JsonObject[]): JsonValue {
  const plain = parts.every((part) => part.type === 'text' && Object.keys(part).length === 2);
  return plain && parts.length === 1 ? (parts[0]!.text ?? '') : [...parts];
}

/** A mark of the provider's cache as a member, where the wire has it. */
export function markOf(mark: JsonValue | undefined, carries: Carries, lost: Lost): JsonObject {
  if (!isObject(mark)) return {};
  if (carries.cacheControl) return { cache_control: mark };
  lost.add('messages[*].content[*].cache_control');
  return {};
}

/** One block. */
export function partOf(block: JsonObject, path: string, carries: Carries, lost: Lost): JsonObject[] {
  const mark = markOf(block.cache_control, carries, lost);
  if (!carries.own) tellSources(block, lost);
  switch (block.type) {
    case 'text':
      return textOf(block.text) === undefined ? [] : [{ type: 'text', text: block.text ?? '', ...mark }];
    case 'image': {
      const image = imagePart(objectOf(block.source) ?? {});
      if (image !== undefined) return [{ ...image, ...mark }];
      break;
    }
    case 'document':
      return documentParts(block, path, mark, carries, lost);
    case 'search_result': {
      if (carries.own) return [block];
      const { title, source, content } = block;
      const texts = arrayOf(content).filter(isObject);
      const text = [title, source, ...texts.map((part) => part.text)].map((t) => textOf(t) ?? '').join('\n');
      return [{ type: 'text', text, ...mark }];
    }
    default:
      if (carries.own) return [block];
  }
  if (carries.own) return [block];
  lost.add(`${starred(path)}[*] (${textOf(block.type) ?? 'unknown'})`);
  return [];
}

/** Sources that a text names or is to name, and what a document is about. */
export function tellSources({ citations, context }: JsonObject, lost: Lost): void {
  const cites = Array.isArray(citations)
    ? citations.some((one) => !isKeptCitation(one))
    : objectOf(citations)?.enabled === true;
  if (cites) lost.add('messages[*].content[*].citations');
  if (textOf(context)) lost.add('messages[*].content[*].context');
}

function starred(path: string): string {
  return path.replace(/\[\d+\]/g, '[*]');
}

function imagePart(source: JsonObject): JsonObject | undefined {
  const url = source.type === 'url' ? textOf(source.url) : dataUrl(source);
  return url === undefined ? undefined : { type: 'image_url', image_url: { url } };
}

function dataUrl({ type, media_type: mediaType, data }: JsonObject): string | undefined {
  if (type !== 'base64' || textOf(data) === undefined) return undefined;
  return `data:${textOf(mediaType) ?? 'application/octet-stream'};base64,${textOf(data)}`;
}

function documentParts(
  block: JsonObject,
  path: string,
  mark: JsonObject,
  carries: Carries,
  lost: Lost,
): JsonObject[] {
  if (carries.documents === 'blocks') return [block];
  const source = objectOf(block.source) ?? {};
  const title = textOf(block.title);
  switch (source.type) {
    case 'text': {
      const text = textOf(source.data) ?? '';
      return [{ type: 'text', text: title === undefined ? text : `${title}\n\n${text}`, ...mark }];
    }
    case 'content':
      return typeof source.content === 'string'
        ? [{ type: 'text', text: source.content, ...mark }]
        : partsOf(arrayOf(source.content).filter(isObject), path, carries, lost);
    case 'base64':
      if (carries.documents === 'files') {
        const file = { filename: title ?? 'document.pdf', file_data: dataUrl(source) ?? '' };
        return [{ type: 'file', file, ...mark }];
      }
      break;
    default:
  }
  lost.add(`${starred(path)}[*] (document)`);
  return [];
}
