// Converse's blocks in the words of Anthropic's Messages.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import type { Lost } from '../messages/lost.ts';

/** Media types of documents by their formats (Bedrock, "DocumentBlock"). */
const DOCUMENTS: Readonly<Record<string, string>> = Object.freeze({
  pdf: 'application/pdf',
  csv: 'text/csv',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  html: 'text/html',
  txt: 'text/plain',
  md: 'text/markdown',
});

/** @param path of the content, for what is lost */
export function blocksOf(content: JsonValue | undefined, path: string, lost: Lost): JsonObject[] {
  const out: JsonObject[] = [];
  for (const block of arrayOf(content)) {
    if (!isObject(block)) continue;
    const last = out.at(-1);
    if (!isObject(block.cachePoint)) out.push(...blockOf(block, path, lost));
    else if (last !== undefined) last.cache_control = markOf(block.cachePoint);
  }
  return out;
}

/** A mark of the prompt cache. */
export function markOf({ ttl }: JsonObject): JsonObject {
  return { type: 'ephemeral', ...(ttl === '5m' || ttl === '1h' ? { ttl } : {}) };
}

function blockOf(block: JsonObject, path: string, lost: Lost): JsonObject[] {
  const { text, json } = block;
  if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }];
  if (json !== undefined) return [{ type: 'text', text: JSON.stringify(json) }];
  const [kind = ''] = Object.keys(block);
  const value = objectOf(block[kind]) ?? {};
  switch (kind) {
    case 'toolUse':
      return [
        {
          type: 'tool_use',
          id: value.toolUseId ?? '',
          name: value.name ?? '',
          input: objectOf(value.input) ?? {},
        },
      ];
    case 'toolResult':
      return [resultBlock(value, path, lost)];
    case 'reasoningContent':
      return thoughtBlocks(value);
    case 'guardContent':
      return textBlock(objectOf(value.text)?.text);
    case 'citationsContent':
      return arrayOf(value.content).flatMap((part) => (isObject(part) ? textBlock(part.text) : []));
    case 'image': {
      const data = textOf(objectOf(value.source)?.bytes);
      if (data !== undefined)
        return [{ type: 'image', source: base64(`image/${textOf(value.format) ?? 'png'}`, data) }];
      break;
    }
    case 'document': {
      const source = documentSource(value);
      if (source !== undefined)
        return [{ type: 'document', source, ...(textOf(value.name) ? { title: value.name! } : {}) }];
      break;
    }
    default:
  }
  lost.add(`${path.replace(/\[\d+\]/g, '[*]')}[*].${kind}`);
  return [];
}

function textBlock(text: JsonValue | undefined): JsonObject[] {
  return textOf(text) === undefined ? [] : [{ type: 'text', text: text! }];
}

function resultBlock({ toolUseId, content, status }: JsonObject, path: string, lost: Lost): JsonObject {
  return {
    type: 'tool_result',
    tool_use_id: toolUseId ?? '',
    content: blocksOf(content, `${path}[*].toolResult.content`, lost),
    ...(status === 'error' ? { is_error: true } : {}),
  };
}

function thoughtBlocks({ reasoningText, redactedContent }: JsonObject): JsonObject[] {
  if (typeof redactedContent === 'string') return [{ type: 'redacted_thinking', data: redactedContent }];
  const { text, signature } = objectOf(reasoningText) ?? {};
  return [
    { type: 'thinking', thinking: text ?? '', ...(typeof signature === 'string' ? { signature } : {}) },
  ];
}

function documentSource({ source, format }: JsonObject): JsonObject | undefined {
  const { bytes, text, content } = objectOf(source) ?? {};
  if (typeof text === 'string') return { type: 'text', media_type: 'text/plain', data: text };
  if (Array.isArray(content))
    return {
      type: 'content',
      content: content.flatMap((part) => (isObject(part) ? textBlock(part.text) : [])),
    };
  if (typeof bytes !== 'string' || bytes === '') return undefined;
  const type = DOCUMENTS[textOf(format) ?? 'pdf'] ?? 'application/octet-stream';
  if (!type.startsWith('text/')) return base64(type, bytes);
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(bytes, 'base64').toString('utf8') };
}

function base64(type: string, data: string): JsonObject {
  return { type: 'base64', media_type: type.replace(/\/jpg$/, '/jpeg'), data };
}
