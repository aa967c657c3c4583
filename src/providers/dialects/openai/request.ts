// What goes out: the request's message written as JSON, always anew, so that what
// was checked is what is sent (a member named twice in the caller's bytes is not).
import type { DescMessage, JsonObject, Message } from '@bufbuild/protobuf';
import type { MessageJson, Outbound, ProviderEntry, StreamUsage } from '../../dialect.ts';
import { isObject } from '../../json-object.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);
const GET_HEADERS = Object.freeze(['accept', 'application/json']);

/** Members of the request as the provider wants them. */
export function encodeBody(
  json: MessageJson,
  schema: DescMessage,
  message: Message,
  provider: ProviderEntry,
): JsonObject {
  const body = json.encode(schema, message) as JsonObject;
  if (provider.renames === undefined) return body;
  for (const [ours, theirs] of Object.entries(provider.renames)) {
    if (!Object.hasOwn(body, ours)) continue;
    const value = body[ours];
    delete body[ours];
    if (value !== undefined && value !== null) body[theirs] = value;
  }
  return body;
}

/** A call that is answered whole: what would stream it is left out. */
export function wholeCall(path: string, body: JsonObject): Outbound {
  if (body.stream === true) {
    delete body.stream;
    delete body.stream_options;
  }
  return { method: 'POST', path, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

/**
 * A call that is answered in pieces, and asked for its usage where it must be asked; a
 * provider that reports unasked is never sent the option, for some refuse it (Mistral: 422).
 */
export function streamedCall(path: string, body: JsonObject, streamUsage: StreamUsage): Outbound {
  body.stream = true;
  if (streamUsage === 'unasked') delete body.stream_options;
  else {
    const given = body.stream_options;
    body.stream_options = isObject(given) ? { ...given, include_usage: true } : { include_usage: true };
  }
  return { method: 'POST', path, headers: SSE_HEADERS, body: JSON.stringify(body) };
}

/** A call without a body. */
export function getCall(path: string): Outbound {
  return { method: 'GET', path, headers: GET_HEADERS, body: undefined };
}
