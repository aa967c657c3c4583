// A message's JSON: the text that it came with, or as it is written from it.
import type { DescMessage, JsonObject, Message } from '@bufbuild/protobuf';
import { rawJsonOf } from '../../lib/raw-json.ts';
import type { MessageJson } from '../dialect.ts';

/** Not to be changed. */
export function jsonOf(json: MessageJson, schema: DescMessage, message: Message): JsonObject {
  const raw = rawJsonOf(message);
  if (raw === undefined) return json.encode(schema, message) as JsonObject;
  return JSON.parse(typeof raw === 'string' ? raw : Buffer.from(raw).toString('utf8')) as JsonObject;
}
