// A caller's frame as an event: what the gateway judges is what the provider reads.
import type { JsonObject } from '@bufbuild/protobuf';
import { fail } from '../../lib/errors.ts';
import { parsedObject } from '../../providers/json-object.ts';
import { isFaithful } from '../../rest/faithful-json.ts';
import { isTooHeavy, LIGHT_BYTES } from '../../rest/json-weight.ts';

const QUOTE = 34;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** An event, and the frame's content as it goes on. */
export interface CallerEvent {
  readonly event: JsonObject;
  readonly data: string | Uint8Array;
}

/**
 * Reads a frame. Where a member is named twice, it is written again as it was read.
 * @param bytesAreEvents whether events come as bytes too; where they do not, bytes that are no object are sound: undefined
 * @throws GatewayError malformed_body for a text that is no JSON object; body_too_large for one with too many members
 */
export async function callerEvent(
  data: string | Uint8Array,
  bytesAreEvents: boolean,
): Promise<CallerEvent | undefined> {
  const isText = typeof data === 'string';
  const bytes = isText ? undefined : Buffer.from(data.buffer, data.byteOffset, data.length);
  if (bytes !== undefined && !bytesAreEvents && !beginsObject(bytes)) return undefined;
  const text = bytes?.toString('utf8') ?? (data as string);
  if (text.length > LIGHT_BYTES && (await isTooHeavy(bytes ?? Buffer.from(text))))
    throw fail('body_too_large', 'the event has too many members and items: send it in parts');
  const event = parsedObject(text);
  if (event === undefined) throw fail('malformed_body', 'a frame must be one JSON object');
  if (isFaithful(text)) return { event, data };
  const written = JSON.stringify(event);
  return { event, data: isText ? written : Buffer.from(written) };
}

/** Whether bytes begin as an object does, which a service may read as an event whatever they come as. */
function beginsObject(bytes: Uint8Array): boolean {
  let i = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (isSpace(bytes[i])) i++;
  if (bytes[i++] !== OPEN_BRACE) return false;
  while (isSpace(bytes[i])) i++;
  return bytes[i] === QUOTE || bytes[i] === CLOSE_BRACE;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 9 || byte === 10 || byte === 13;
}
