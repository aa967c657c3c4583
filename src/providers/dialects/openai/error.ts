// Errors in this dialect: `{"error": {"message", "type", "param", "code"}}`, whole,
// inside a 200 and as an event of a stream (OpenAI, "Error codes"; OpenRouter's
// errors carry an HTTP status as `code`, vLLM's have `"object": "error"` at the top).
import type { JsonObject } from '@bufbuild/protobuf';
import { fail, type GatewayError } from '../../../lib/errors.ts';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';
import { clip, readErrorBody, readErrorObject, statusIn } from '../../provider-error.ts';

export { readErrorBody as readError };

/** Whether an answer with a good status speaks of an error all the same. */
export function speaksOfError(json: JsonObject): boolean {
  const error = json.error;
  if (error === undefined) return json.object === 'error' || isRefused(json);
  return isObject(error) || (typeof error === 'string' && error !== '');
}

/** MiniMax's: a status other than 0 beside choices that are null. */
function isRefused({ base_resp: said, choices }: JsonObject): boolean {
  const status = objectOf(said)?.status_code;
  return typeof status === 'number' && status !== 0 && arrayOf(choices).length === 0;
}

/** The error of an answer all of whose choices have failed (OpenRouter); undefined: one at least has not. */
export function faultOf(json: JsonObject): JsonObject | undefined {
  let fault: JsonObject | undefined;
  for (const choice of arrayOf(json.choices)) {
    if (!isObject(choice) || !isObject(choice.error)) return undefined;
    fault ??= choice;
  }
  return fault;
}

/** Whether an object that should be an answer is an error without a member `error`: a message, FastAPI's detail, Cloudflare's list. */
export function isBareError(json: JsonObject): boolean {
  if (Array.isArray(json.choices) || json.usage !== undefined) return false;
  const { code, type, status, success } = json;
  const isNamed = [code, type, status].some((one) => typeof one === 'string' || typeof one === 'number');
  const hasWords = typeof json.message === 'string' && json.message !== '';
  const hasDetail = (typeof json.detail === 'string' && json.detail !== '') || Array.isArray(json.detail);
  const hasErrors = success === false && Array.isArray(json.errors) && json.errors.length > 0;
  return (hasWords && (isNamed || success === false)) || hasDetail || hasErrors;
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
