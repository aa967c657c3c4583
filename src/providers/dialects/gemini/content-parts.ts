// A message's content as Gemini's parts (Gemini API reference, "Part").
import type { JsonObject } from '@bufbuild/protobuf';
import type { Content, ContentPart } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { given, objectOf, textOf } from '../../json-object.ts';

const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[^;,]*)*;base64$/i;
/** Types by a path's ending, for addresses: Gemini wants to be told. */
const TYPES: Readonly<Record<string, string>> = Object.freeze({
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  heic: 'image/heic',
  heif: 'image/heif',
  gif: 'image/gif',
  pdf: 'application/pdf',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  mov: 'video/mov',
  webm: 'video/webm',
  txt: 'text/plain',
});

/**
 * The content's parts; texts that are empty are left out.
 * @param path of the content, e.g. "messages[0].content", for errors.
 * @throws GatewayError `validation_failed` naming the part that cannot be expressed.
 */
export function contentParts(content: Content | undefined, path: string): JsonObject[] {
  const kind = content?.kind;
  if (kind?.case === 'text') return kind.value === '' ? [] : [{ text: kind.value }];
  if (kind?.case !== 'parts') return [];
  return kind.value.values.flatMap((part, i) => onePart(part, `${path}[${i}]`));
}

function onePart(part: ContentPart, path: string): JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text ? [{ text: part.text }] : [];
    case 'refusal':
      return typeof part.extra?.refusal === 'string' ? [{ text: part.extra.refusal }] : [];
    case 'image_url': {
      const { url = '', extra } = part.imageUrl ?? {};
      const type = textOf(given(extra)?.mime_type);
      return [media(url, type, `${path}.image_url.url`)];
    }
    case 'input_audio': {
      const audio = objectOf(part.extra?.input_audio) ?? {};
      const data = textOf(audio.data);
      if (data === undefined) throw invalidField(`${path}.input_audio.data`, 'is required');
      return [{ inlineData: { mimeType: `audio/${textOf(audio.format) ?? 'wav'}`, data } }];
    }
    case 'file':
      return [filePart(objectOf(part.extra?.file) ?? {}, path)];
    case 'video_url':
      return [media(textOf(objectOf(part.extra?.video_url)?.url) ?? '', undefined, `${path}.video_url.url`)];
    default:
      throw invalidField(`${path}.type`, `"${part.type.slice(0, 64)}" is not supported by this provider`);
  }
}

/** OpenAI's file: bytes as a data URL, or the id of an uploaded file, which Gemini calls by its address. */
function filePart(file: JsonObject, path: string): JsonObject {
  const data = textOf(file.file_data);
  const id = textOf(file.file_id);
  const type = textOf(file.mime_type) ?? typeByName(textOf(file.filename) ?? '');
  if (data !== undefined) {
    if (data.startsWith('data:')) return media(data, type, `${path}.file.file_data`);
    return { inlineData: { mimeType: type ?? 'application/pdf', data } };
  }
  if (id === undefined) throw invalidField(`${path}.file`, 'must have file_data or file_id');
  return { fileData: { ...(type === undefined ? {} : { mimeType: type }), fileUri: id } };
}

/** Bytes of a data URL, or a file at an address. @throws GatewayError `validation_failed` for neither */
export function media(url: string, type: string | undefined, path: string): JsonObject {
  if (/^(?:https?|gs):\/\//i.test(url)) {
    const told = type ?? typeByName(url.split(/[?#]/, 1)[0] ?? '');
    return { fileData: { ...(told === undefined ? {} : { mimeType: told }), fileUri: url } };
  }
  const comma = url.indexOf(',');
  const head = DATA_URL.exec(url.slice(0, Math.min(comma, 256)));
  if (comma === -1 || head === null)
    throw invalidField(path, 'must be an http(s) or gs address or data:<type>;base64,<bytes>');
  return { inlineData: { mimeType: (head[1] as string).toLowerCase(), data: url.slice(comma + 1) } };
}

function typeByName(name: string): string | undefined {
  const ending = /\.([a-z0-9]{2,5})$/i.exec(name)?.[1]?.toLowerCase();
  return ending !== undefined && Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined;
}
