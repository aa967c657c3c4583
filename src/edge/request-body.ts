// The JSON body of a request: read once its caller is known, within the caller's time, and decoded in turns of the event loop
// where it is long.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Form, Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import type { Call } from '../call/call.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import { readTimeout, timedOut } from '../lib/request-timeout.ts';
import { nextTurn } from '../lib/time-slices.ts';
import { isFaithful } from '../rest/faithful-json.ts';
import { isTooHeavy, LIGHT_BYTES } from '../rest/json-weight.ts';
import { annotationsOf } from '../rest/routes.ts';
import { isKnown, type KnownDeps } from './known-caller.ts';
import type { BodyReader } from './read-body.ts';

/** The body, read within the caller's time. Without a valid key it is not read: the interceptors refuse the call. */
export async function readBody(
  deps: KnownDeps,
  bodies: BodyReader,
  bodyLimit: number,
  call: Call,
  req: IncomingMessage,
  plane: Plane,
): Promise<Parsed> {
  if (!annotationsOf(call.method).access.open) {
    const known = isKnown(deps, call, req);
    if (!(known === true || (await known))) return unread;
  }
  const timeoutMs = timeoutOf(call);
  if (timeoutMs !== undefined) call.expireAfter(timeoutMs, () => timedOut(timeoutMs));
  try {
    const untyped = annotationsOf(call.method).form === Form.BEDROCK;
    const bytes = await bodies.read(req, bodyLimit, call.signal, call.identity?.principal.keyId, untyped);
    call.bodyBytes = bytes.length;
    // Operations of the control plane whose path says all take no body as an empty one.
    const given = bytes.length === 0 && plane === Plane.CONTROL ? EMPTY_OBJECT : bytes;
    return given.length <= LIGHT_BYTES ? parsed(given) : await parseLong(given);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    // What fails for its body on the control plane is in the audit log: the interceptors must hear of it.
    if (plane !== Plane.CONTROL || error.reason === 'client_closed') throw error;
    return { ...unread, error };
  } finally {
    // From here on the deadline interceptor keeps the time.
    call.stopTimer();
  }
}

/** A header that cannot be read bounds nothing here; the deadline interceptor refuses it. */
function timeoutOf(call: Call): number | undefined {
  try {
    return readTimeout(call.headers);
  } catch {
    return undefined;
  }
}

/** A body's JSON, or its fault, which is told once the caller is known. */
export interface Parsed {
  readonly bytes: Uint8Array;
  readonly json: unknown;
  /** Whether the bytes may be sent on as they are. */
  readonly isFaithful: () => boolean;
  readonly error: GatewayError | undefined;
}

const EMPTY_OBJECT = Buffer.from('{}');

/** The body's JSON, or the error to tell once the caller is known. */
export function parsed(bytes: Uint8Array): Parsed {
  if (!isUtf8(bytes)) return malformed(bytes, 'the body must be UTF-8');
  const text = (bytes as Buffer).toString('utf8');
  try {
    return { bytes, json: JSON.parse(text) as unknown, isFaithful: () => isFaithful(text), error: undefined };
  } catch {
    return malformed(bytes, 'the body must be valid JSON');
  }
}

/** The same of a body that may hold the event loop: 43,000 empty objects take 15 ms in each turn, 6,000 messages as long at first. */
async function parseLong(bytes: Uint8Array): Promise<Parsed> {
  if (await isTooHeavy(bytes)) return { ...malformed(bytes, ''), error: tooHeavy() };
  if (!isUtf8(bytes)) return malformed(bytes, 'the body must be UTF-8');
  const text = (bytes as Buffer).toString('utf8');
  await nextTurn();
  try {
    const json: unknown = JSON.parse(text);
    await nextTurn();
    const faithful = isFaithful(text);
    await nextTurn();
    return { bytes, json, isFaithful: () => faithful, error: undefined };
  } catch {
    return malformed(bytes, 'the body must be valid JSON');
  }
}

function tooHeavy(): GatewayError {
  return fail(
    'body_too_large',
    'the body has too many members and items: it may have about 57,000 members (16,000 with names of their own), 400,000 numbers or 2,000,000 escaped signs; send it in parts',
  );
}

function malformed(bytes: Uint8Array, message: string): Parsed {
  return { bytes, json: undefined, isFaithful: () => false, error: fail('malformed_body', message) };
}

const unread: Parsed = malformed(Buffer.alloc(0), 'the body was not read');

/** Whether it says `"stream": true`. */
export function wantsStream(body: Parsed | undefined): boolean {
  const { json } = body ?? { json: undefined };
  return typeof json === 'object' && json !== null && (json as { stream?: unknown }).stream === true;
}
