// A message's content as Converse's blocks (Bedrock Runtime API reference, "ContentBlock").
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Content, ContentPart } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { given, isObject, objectOf, textOf } from '../../json-object.ts';

const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[^;,]*)*;base64$/i;
/** Converse's formats by media type; each with the block that it belongs in. */
const FORMATS: Readonly<Record<string, readonly [block: string, format: string]>> = Object.freeze({
  'image/png': ['image', 'png'],
  'image/jpeg': ['image', 'jpeg'],
  'image/jpg': ['image', 'jpeg'],
  'image/gif': ['image', 'gif'],
  'image/webp': ['image', 'webp'],
  'application/pdf': ['document', 'pdf'],
  'text/csv': ['document', 'csv'],
  'application/msword': ['document', 'doc'],
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': ['document', 'docx'],
  'application/vnd.ms-excel': ['document', 'xls'],
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': ['document', 'xlsx'],
  'text/html': ['document', 'html'],
  'text/plain': ['document', 'txt'],
  'text/markdown': ['document', 'md'],
  'video/mp4': ['video', 'mp4'],
  'video/quicktime': ['video', 'mov'],
  'video/webm': ['video', 'webm'],
  'video/x-matroska': ['video', 'mkv'],
  'audio/mpeg': ['audio', 'mp3'],
  'audio/mp3': ['audio', 'mp3'],
  'audio/wav': ['audio', 'wav'],
  'audio/flac': ['audio', 'flac'],
  'audio/ogg': ['audio', 'ogg'],
});

/** Names of the documents so far: Converse wants one for each, and refuses a name that comes twice. */
export type DocumentNames = Set<string>;

/**
 * The content's blocks; texts that are empty are left out, for Converse refuses them.
 * @param path of the content, e.g. "messages[0].content", for errors
 * @throws GatewayError `validation_failed` naming the part that cannot be expressed
 */
export function contentBlocks(
  content: Content | undefined,
  path: string,
  names: DocumentNames,
): JsonObject[] {
  const kind = content?.kind;
  if (kind?.case === 'text') return kind.value.trim() === '' ? [] : [{ text: kind.value }];
  if (kind?.case !== 'parts') return [];
  return kind.value.values.flatMap((part, i) => [
    ...partBlocks(part, `${path}[${i}]`, names),
    ...cachePoint(part.extra?.cache_control),
  ]);
}

/** A mark of Anthropic's form as a cachePoint block, which follows what it caches. */
export function cachePoint(mark: JsonValue | undefined): JsonObject[] {
  if (!isObject(mark)) return [];
  const ttl = textOf(mark.ttl);
  return [{ cachePoint: { type: 'default', ...(ttl === undefined ? {} : { ttl }) } }];
}

function partBlocks(part: ContentPart, path: string, names: DocumentNames): JsonObject[] {
  const { type, text, extra } = part;
  switch (type) {
    case 'text':
      return text === undefined || text.trim() === '' ? [] : [{ text }];
    case 'refusal':
      return typeof extra?.refusal === 'string' ? [{ text: extra.refusal }] : [];
    case 'image_url':
      return [media(part.imageUrl?.url ?? '', undefined, `${path}.image_url.url`, names)];
    case 'video_url':
      return [
        media(textOf(objectOf(extra?.video_url)?.url) ?? '', undefined, `${path}.video_url.url`, names),
      ];
    case 'input_audio': {
      const audio = objectOf(extra?.input_audio) ?? {};
      const data = textOf(audio.data);
      if (data === undefined) throw invalidField(`${path}.input_audio.data`, 'is required');
      return [{ audio: { format: textOf(audio.format) ?? 'wav', source: { bytes: data } } }];
    }
    case 'file':
      return [filePart(objectOf(extra?.file) ?? {}, path, names)];
    case 'cachePoint':
    case 'cache_point':
      return [{ cachePoint: given(objectOf(extra?.[type])) ?? { type: 'default' } }];
    case 'guardContent':
    case 'guard_content': {
      const guarded = objectOf(extra?.[type]) ?? (text ? { text: { text } } : undefined);
      if (guarded === undefined) throw invalidField(`${path}.${type}`, 'is required');
      return [{ guardContent: guarded }];
    }
    default:
      throw invalidField(`${path}.type`, `"${type.slice(0, 64)}" is not supported by this provider`);
  }
}

/** OpenAI's file: bytes as a data URL, or an object of S3. */
function filePart(file: JsonObject, path: string, names: DocumentNames): JsonObject {
  const id = textOf(file.file_id);
  const data = textOf(file.file_data) ?? id;
  if (data === undefined) throw invalidField(`${path}.file`, 'must have file_data');
  if (data === id && !/^(?:s3|data):/i.test(id))
    throw invalidField(`${path}.file.file_id`, 'must be s3://…: this provider has no uploaded files');
  const bytes =
    data.startsWith('data:') || data.startsWith('s3:') ? data : `data:application/pdf;base64,${data}`;
  return media(bytes, textOf(file.filename), `${path}.file.file_data`, names);
}

function media(url: string, filename: string | undefined, path: string, names: DocumentNames): JsonObject {
  const comma = url.indexOf(',');
  const head = DATA_URL.exec(url.slice(0, Math.min(Math.max(comma, 0), 256)));
  if (head === null && !/^s3:\/\//i.test(url))
    throw invalidField(
      path,
      'must be data:<type>;base64,<bytes> or s3://…: this provider fetches no other address',
    );
  const [block, format] = head === null ? byName(url) : (FORMATS[(head[1] as string).toLowerCase()] ?? []);
  if (block === undefined || format === undefined)
    throw invalidField(path, 'is of a type that this provider does not take');
  const source: JsonObject = head === null ? { s3Location: { uri: url } } : { bytes: url.slice(comma + 1) };
  return {
    [block]: { format, ...(block === 'document' ? { name: nameOf(filename, names) } : {}), source },
  };
}

function byName(url: string): readonly [string, string] | readonly [] {
  const ending = /\.([a-z0-9]{2,5})$/i.exec(url)?.[1]?.toLowerCase();
  return Object.values(FORMATS).find(([, format]) => format === (ending === 'jpg' ? 'jpeg' : ending)) ?? [];
}

/** Letters, digits, single spaces, hyphens, parentheses and brackets ("DocumentBlock", `name`). */
function nameOf(filename: string | undefined, names: DocumentNames): string {
  const plain = (filename ?? '')
    .replace(/\.[a-z0-9]{1,5}$/i, '')
    .replace(/[^A-Za-z0-9()[\]-]+/g, ' ')
    .trim();
  const base = plain === '' ? 'document' : plain.slice(0, 180);
  let name = base;
  for (let i = 2; names.has(name); i += 1) name = `${base} ${i}`;
  names.add(name);
  return name;
}
