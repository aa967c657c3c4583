// Content of items as content of chat messages.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { invalidField } from '../../../lib/errors.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import type { Drops } from './dropped.ts';

/** The content of a user's or system's message, or what a call gave: a text, or the chat form's parts. */
export function chatContent(content: JsonValue | undefined, path: string, dialect: string): JsonValue {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  if (!Array.isArray(content)) throw invalidField(path, 'must be a text or an array of parts');
  const parts = content.map((part, i) => chatPart(part, `${path}[${i}]`, dialect));
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? (only.text as string) : parts;
}

function chatPart(part: JsonValue, path: string, dialect: string): JsonObject {
  if (!isObject(part)) throw invalidField(path, 'must be an object');
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
    case 'reasoning_text':
      return { type: 'text', text: stringOf(part.text) };
    case 'refusal':
      return { type: 'text', text: stringOf(part.refusal) };
    case 'input_image':
      return imagePart(part, path);
    case 'input_file':
      return filePart(part, path, dialect);
    case 'input_audio':
      return { type: 'input_audio', input_audio: objectOf(part.input_audio) ?? {} };
    default:
      throw invalidField(
        `${path}.type`,
        `"${stringOf(part.type).slice(0, 64)}" is not supported by this provider`,
      );
  }
}

function imagePart(part: JsonObject, path: string): JsonObject {
  const url = textOf(part.image_url) ?? textOf(objectOf(part.image_url)?.url);
  if (url === undefined)
    throw invalidField(`${path}.file_id`, 'files are not read by this provider: use image_url');
  const detail = textOf(part.detail);
  return { type: 'image_url', image_url: { url, ...(detail === undefined ? {} : { detail }) } };
}

/** A document as a data address stands where images stand in the Messages API; other files are files. */
function filePart(part: JsonObject, path: string, dialect: string): JsonObject {
  const data = textOf(part.file_data);
  if (data === undefined) {
    const url = textOf(part.file_url);
    if (url === undefined)
      throw invalidField(`${path}.file_id`, 'files are not read by this provider: use file_data');
    return { type: 'file', file: { file_url: url } };
  }
  if (dialect === 'anthropic' && data.startsWith('data:application/pdf;'))
    return { type: 'image_url', image_url: { url: data } };
  const filename = textOf(part.filename);
  return { type: 'file', file: { file_data: data, ...(filename === undefined ? {} : { filename }) } };
}

const READ: ReadonlySet<string> = new Set([
  ...['type', 'text', 'refusal', 'image_url', 'detail', 'file_data', 'file_url', 'file_id', 'filename'],
  'input_audio',
]);

/** Members of a message's parts that the chat form has no word for: sources, probabilities, marks of a cache. */
export function tellUnread(content: JsonValue | undefined, drops: Drops): void {
  for (const part of Array.isArray(content) ? content : []) {
    for (const [name, value] of Object.entries(isObject(part) ? part : {}))
      if (!READ.has(name) && says(value)) drops.add(`input[*].content[*].${name}`);
  }
}

function says(value: JsonValue): boolean {
  return value !== null && value !== false && !(Array.isArray(value) && value.length === 0);
}

/** What an assistant's message said, and what it refused. */
export function assistantText(content: JsonValue | undefined): {
  readonly text: string;
  readonly refusal: string;
} {
  if (typeof content === 'string') return { text: content, refusal: '' };
  let [text, refusal] = ['', ''];
  for (const part of Array.isArray(content) ? content : []) {
    if (!isObject(part)) continue;
    if (part.type === 'refusal') refusal += stringOf(part.refusal);
    else text += stringOf(part.text);
  }
  return { text, refusal };
}

export function stringOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
