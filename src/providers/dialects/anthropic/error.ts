// Errors in this dialect (Anthropic API reference, "Errors"): `{"type": "error",
// "error": {"type", "message"}}`, whole, inside a 200 and as an event of a stream.
import type { JsonObject } from '@bufbuild/protobuf';
import { fail, type GatewayError } from '../../../lib/errors.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { readErrorBody, readErrorObject, statusIn } from '../../provider-error.ts';

export { readErrorBody as readError };

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
