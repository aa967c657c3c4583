// OpenAI's file parts as Anthropic's blocks (Anthropic, "PDF support" and "Files API").
import type { JsonObject } from '@bufbuild/protobuf';
import { invalidField } from '../../../lib/errors.ts';
import { textOf } from '../../json-object.ts';

const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[^;,]*)*;base64$/i;

/**
 * Bytes as a document or an image, an address as a document, or the id of a file that was uploaded to Anthropic.
 * @throws GatewayError `validation_failed` naming what cannot be expressed
 */
export function fileBlock(file: JsonObject, path: string): JsonObject {
  const { file_data: given, file_id: id, filename } = file;
  const title = textOf(filename);
  const document = (source: JsonObject): JsonObject => ({
    type: 'document',
    source,
    ...(title === undefined ? {} : { title }),
  });
  const data = textOf(given);
  if (data === undefined) {
    const uploaded = textOf(id);
    if (uploaded === undefined) throw invalidField(`${path}.file`, 'must have file_data or file_id');
    return document({ type: 'file', file_id: uploaded });
  }
  if (/^https?:\/\//i.test(data)) return document({ type: 'url', url: data });
  if (!data.startsWith('data:')) return document({ type: 'base64', media_type: 'application/pdf', data });
  const comma = data.indexOf(',');
  const type = DATA_URL.exec(data.slice(0, Math.min(Math.max(comma, 0), 256)))?.[1]?.toLowerCase();
  const bytes = data.slice(comma + 1);
  if (type === 'application/pdf') return document({ type: 'base64', media_type: type, data: bytes });
  if (type?.startsWith('image/'))
    return { type: 'image', source: { type: 'base64', media_type: type, data: bytes } };
  if (type?.startsWith('text/') || type === 'application/json')
    return document({
      type: 'text',
      media_type: 'text/plain',
      data: Buffer.from(bytes, 'base64').toString('utf8'),
    });
  throw invalidField(`${path}.file.file_data`, 'must be a PDF, a text or an image with this provider');
}
