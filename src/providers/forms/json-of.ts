// A message's JSON: the text that it came with, or as it is written from it.
import type { DescMessage, JsonObject, Message } from '@bufbuild/protobuf';
import { checkReadable } from '../../lib/heavy-message.ts';
import { rawValueOf } from '../../lib/raw-json.ts';
import type { MessageJson } from '../dialect.ts';

/** Not to be changed. @throws GatewayError `upstream_garbage` for an answer that is too heavy to be read */
export function jsonOf(json: MessageJson, schema: DescMessage, message: Message): JsonObject {
  checkReadable(message);
  return (rawValueOf(message) ?? json.encode(schema, message)) as JsonObject;
}
