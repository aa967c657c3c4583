// Errors in this dialect (Anthropic API reference, "Errors"): `{"type": "error",
// "error": {"type", "message"}}`, whole, inside a 200 and as an event of a stream.
import type { JsonObject } from '@bufbuild/protobuf';
import { fail, type GatewayError, type OwnDetails } from '../../../lib/errors.ts';
import type { ProviderError } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, parsedObject, textOf } from '../../json-object.ts';
import { readErrorBody, readErrorObject, statusIn } from '../../provider-error.ts';

/** Of a code, and of a name in its list. */
const MOST_NAME = 128;
const MOST_NAMES = 32;

/** An error body, with the details that clients act on (`thread_not_found`, for one). Never throws. */
export function readError(status: number, body: Uint8Array): ProviderError {
  const error = readErrorBody(status, body);
  if (body.byteLength > 65_536) return error;
  const json = parsedObject(Buffer.from(body).toString('utf8'));
  const ownDetails = detailsOf(objectOf(objectOf(json?.error)?.details));
  return ownDetails === undefined ? error : { ...error, ownDetails };
}

function detailsOf(details: JsonObject | undefined): OwnDetails | undefined {
  const code = textOf(details?.error_code);
  if (code === undefined || code.length > MOST_NAME) return undefined;
  const names = arrayOf(details?.unsupported).filter(
    (name) => typeof name === 'string' && name.length <= MOST_NAME,
  );
  return {
    error_code: code,
    ...(names.length === 0 ? {} : { unsupported: names.slice(0, MOST_NAMES) as string[] }),
  };
}

/** HTTP statuses of the error types, for errors that come after the head. */
const STATUSES: Readonly<Record<string, number>> = Object.freeze({
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
});

/** Whether an answer with a good status speaks of an error all the same. */
export function speaksOfError(json: JsonObject): boolean {
  return json.type === 'error' || isObject(json.error);
}

/** The error that an answer with a good status speaks of: the status of its type, or 502. */
export function errorInside(json: JsonObject, provider: string): GatewayError {
  const { message, ...rest } = readErrorObject(json) ?? {
    message: 'the provider reported an error without words',
  };
  const type = textOf(objectOf(json.error)?.type) ?? '';
  const status = Object.hasOwn(STATUSES, type) ? STATUSES[type] : statusIn(json);
  return fail('upstream_status', message, { provider, status: status ?? 502, ...rest });
}
