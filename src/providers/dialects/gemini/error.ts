// Errors in this dialect (Google APIs, "Error model"): `{"error": {"code", "message", "status", "details"}}`, whole, in a
// list of one, inside a 200, and as an event of a stream.
import type { JsonObject } from '@bufbuild/protobuf';
import { fail, type GatewayError } from '../../../lib/errors.ts';
import type { ProviderError } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { readErrorBody, readErrorObject, statusIn } from '../../provider-error.ts';

/** HTTP statuses of the canonical codes, for errors whose code is missing. */
const STATUSES: Readonly<Record<string, number>> = Object.freeze({
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  OUT_OF_RANGE: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ABORTED: 409,
  ALREADY_EXISTS: 409,
  RESOURCE_EXHAUSTED: 429,
  CANCELLED: 499,
  INTERNAL: 500,
  UNKNOWN: 500,
  UNIMPLEMENTED: 501,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
});

/** Of an error body that is read: longer ones have the words of their status alone. */
const MAX_BYTES = 65_536;

/** An error body; the canonical status is the error's type. Never throws. */
export function readError(status: number, body: Uint8Array): ProviderError {
  const json = parsed(body);
  return { ...typeOf(json), ...readErrorBody(status, body), ...retryIn(json) };
}

/** Whether an answer with a good status speaks of an error all the same. */
export function speaksOfError(json: JsonObject): boolean {
  return isObject(json.error);
}

/** The error that an answer with a good status speaks of: its own code, or the status of its canonical code, or 502. */
export function errorInside(json: JsonObject, provider: string): GatewayError {
  const { message, ...rest } = readErrorObject(json) ?? {
    message: 'the provider reported an error without words',
  };
  const named = textOf(objectOf(json.error)?.status) ?? '';
  const status = statusIn(json) ?? (Object.hasOwn(STATUSES, named) ? STATUSES[named] : undefined);
  return fail('upstream_status', message, { provider, status: status ?? 502, ...rest, ...typeOf(json) });
}

/** "RetryInfo" among the details: a duration in seconds, "34.4s". */
function retryIn(json: unknown): { retryAfterMs?: number } {
  const top: unknown = Array.isArray(json) ? json[0] : json;
  const details = isObject(top) ? arrayOf(objectOf(top.error)?.details) : [];
  const delay = details
    .filter(isObject)
    .map(({ retryDelay }) => textOf(retryDelay))
    .find((text) => text !== undefined && /^\d{1,5}(?:\.\d{1,9})?s$/.test(text));
  return delay === undefined ? {} : { retryAfterMs: Math.ceil(Number.parseFloat(delay) * 1000) };
}

function typeOf(json: unknown): { type?: string } {
  const top: unknown = Array.isArray(json) ? json[0] : json;
  const status = isObject(top) ? textOf(objectOf(top.error)?.status) : undefined;
  return status === undefined ? {} : { type: status };
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body.subarray(0, MAX_BYTES)).toString('utf8'));
  } catch {
    return undefined;
  }
}
