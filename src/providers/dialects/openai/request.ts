// What goes out: the caller's own text where it says the same, else the request's
// message written as JSON.
import type { DescMessage, JsonObject, Message } from '@bufbuild/protobuf';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import { jsonValueOf, parsedValueOf, rawJsonOf } from '../../../lib/raw-json.ts';
import type { MessageJson, Outbound, ProviderEntry } from '../../dialect.ts';
import { isObject } from '../../json-object.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);
const GET_HEADERS = Object.freeze(['accept', 'application/json']);
const ASK_USAGE = Buffer.from(',"stream_options":{"include_usage":true}}');
const CLOSE_BRACE = 125;

/** The streaming fields of a request; requests of other operations have none. */
interface Streaming {
  readonly stream?: boolean;
  readonly streamOptions?: { readonly includeUsage?: boolean; readonly extra?: JsonObject };
  readonly extra?: JsonObject;
}

/** A call that is answered whole: what would stream it is left out. */
export function wholeCall(
  path: string,
  json: MessageJson,
  schema: DescMessage,
  request: Message,
  provider: ProviderEntry,
): Outbound {
  const raw = unchanged(request, provider);
  const streams = (request as Streaming).stream === true;
  if (raw !== undefined && !streams) return { method: 'POST', path, headers: JSON_HEADERS, body: raw };
  const body = encodeBody(json, schema, request, provider);
  if (streams) {
    delete body.stream;
    delete body.stream_options;
  }
  return { method: 'POST', path, headers: JSON_HEADERS, body: jsonBody(body) };
}

/**
 * A call that is answered in pieces, and asked for its usage where it must be asked; a
 * provider that reports unasked is never sent the option, for some refuse it (Mistral: 422).
 */
export function streamedCall(
  path: string,
  json: MessageJson,
  schema: DescMessage,
  request: Message,
  provider: ProviderEntry,
): Outbound {
  const raw = unchanged(request, provider);
  const text = raw && streamedText(bytesOf(raw), request as Streaming, provider);
  if (text !== undefined) return { method: 'POST', path, headers: SSE_HEADERS, body: text };
  const body = encodeBody(json, schema, request, provider);
  body.stream = true;
  if (provider.streamUsage === 'unasked') delete body.stream_options;
  else {
    const given = body.stream_options;
    body.stream_options = isObject(given) ? { ...given, include_usage: true } : { include_usage: true };
  }
  return { method: 'POST', path, headers: SSE_HEADERS, body: jsonBody(body) };
}

/** The caller's original text, where it has no member that the provider names otherwise. */
function unchanged(request: Message, { renames }: ProviderEntry): string | Uint8Array | undefined {
  const raw = rawJsonOf(request);
  if (raw === undefined || renames === undefined) return raw;
  const value = parsedValueOf(request);
  if (!isObject(value)) return undefined;
  for (const ours in renames) if (Object.hasOwn(value, ours)) return undefined;
  return raw;
}

function bytesOf(raw: string | Uint8Array): Uint8Array {
  return typeof raw === 'string' ? Buffer.from(raw) : raw;
}

/** The caller's text with the question for usage added where it is missing; undefined when more must change. */
function streamedText(raw: Uint8Array, request: Streaming, provider: ProviderEntry): Uint8Array | undefined {
  const { streamOptions: options, extra } = request;
  if (provider.streamUsage === 'unasked') {
    return options === undefined && !Object.hasOwn(extra ?? {}, 'stream_options') ? raw : undefined;
  }
  if (options !== undefined) return options.includeUsage === true ? raw : undefined;
  if (Object.hasOwn(extra ?? {}, 'stream_options')) return undefined;
  // The text is an object with at least the member `stream`, so its last brace closes it.
  return Buffer.concat([raw.subarray(0, raw.lastIndexOf(CLOSE_BRACE)), ASK_USAGE]);
}

/** Members of the request as the provider wants them. */
function encodeBody(
  json: MessageJson,
  schema: DescMessage,
  message: Message,
  provider: ProviderEntry,
): JsonObject {
  const body = { ...(jsonValueOf(message) ?? (json.encode(schema, message) as JsonObject)) };
  if (provider.renames === undefined) return body;
  for (const [ours, theirs] of Object.entries(provider.renames)) {
    if (!Object.hasOwn(body, ours)) continue;
    const value = body[ours];
    delete body[ours];
    if (value !== undefined && value !== null) body[theirs] = value;
  }
  return body;
}

/** A call without a body. */
export function getCall(path: string): Outbound {
  return { method: 'GET', path, headers: GET_HEADERS, body: undefined };
}
