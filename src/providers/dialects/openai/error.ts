// Errors in this dialect: `{"error": {"message", "type", "param", "code"}}`, whole,
// inside a 200 and as an event of a stream (OpenAI, "Error codes"; OpenRouter's
// errors carry an HTTP status as `code`, vLLM's have `"object": "error"` at the top).
import type { JsonObject } from '@bufbuild/protobuf';
import { fail, type GatewayError } from '../../../lib/errors.ts';
import { isObject } from '../../json-object.ts';
import { clip, readErrorBody, readErrorObject, statusIn } from '../../provider-error.ts';

export { readErrorBody as readError };

/** Whether an answer with a good status speaks of an error all the same. */
export function speaksOfError(json: JsonObject): boolean {
  const error = json.error;
  if (error === undefined) return json.object === 'error';
  return isObject(error) || (typeof error === 'string' && error !== '');
}

/** The error that an answer with a good status speaks of: the status that it names, or 502. */
export function errorInside(json: JsonObject, provider: string): GatewayError {
  const { message, ...rest } = readErrorObject(json) ?? {
    message: 'the provider reported an error without words',
  };
  // Azure refuses what its filter finds inside of a 200: it is the caller's text, as in the answer with status 400.
  const otherwise = rest.code === 'content_filter' ? 400 : 502;
  return fail('upstream_status', message, { provider, status: statusIn(json) ?? otherwise, ...rest });
}

/** An `error` event whose data is no JSON object. */
export function errorText(data: string, provider: string): GatewayError {
  const message = clip(data) || 'the provider reported an error without words';
  return fail('upstream_status', message, { provider, status: 502 });
}
