// Data and files of a turn as parts of chat.
import type { JsonObject } from '@bufbuild/protobuf';
import { objectOf, textOf } from '../../json-object.ts';
import type { Carries } from '../ability.ts';
import type { Lost } from '../messages/lost.ts';

/** The parts of one part; none of what the wire cannot carry. */
export function mediaParts(part: JsonObject, carries: Carries, lost: Lost): JsonObject[] {
  const data = objectOf(part.inlineData);
  if (data !== undefined) {
    const made = inlinePart(
      textOf(data.mimeType) ?? '',
      textOf(data.data) ?? '',
      textOf(data.displayName),
      carries,
    );
    if (made !== undefined) return [made];
    lost.add(`contents[*].parts[*].inlineData (${textOf(data.mimeType) ?? 'no type'})`);
    return [];
  }
  const file = objectOf(part.fileData);
  const url = textOf(file?.fileUri ?? file?.file_uri);
  const type = textOf(file?.mimeType ?? file?.mime_type) ?? '';
  if (url?.startsWith('https://') && type.startsWith('image/'))
    return [{ type: 'image_url', image_url: { url } }];
  lost.add(`contents[*].parts[*].${Object.keys(part)[0] ?? 'part'}`);
  return [];
}

function inlinePart(
  type: string,
  data: string,
  name: string | undefined,
  carries: Carries,
): JsonObject | undefined {
  if (data === '') return undefined;
  const url = `data:${type};base64,${data}`;
  if (type.startsWith('image/')) return { type: 'image_url', image_url: { url } };
  if (type.startsWith('audio/')) {
    if (!carries.choices) return undefined;
    return {
      type: 'input_audio',
      input_audio: {
        data,
        format: type
          .slice('audio/'.length)
          .replace(/^(?:x-|mpeg$)/, (start) => (start === 'mpeg' ? 'mp3' : '')),
      },
    };
  }
  if (type.startsWith('text/')) return { type: 'text', text: Buffer.from(data, 'base64').toString('utf8') };
  if (type.startsWith('video/') || carries.documents === 'text') return undefined;
  if (carries.documents === 'blocks')
    return {
      type: 'document',
      source: { type: 'base64', media_type: type, data },
      ...(name ? { title: name } : {}),
    };
  return {
    type: 'file',
    file: { filename: name ?? `document.${type.split('/')[1] ?? 'bin'}`, file_data: url },
  };
}
