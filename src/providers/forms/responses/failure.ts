// The error of a response that says itself that it failed.
import type { JsonObject } from '@bufbuild/protobuf';
import type { GatewayError } from '../../../lib/errors.ts';
import { errorInside } from '../../dialects/openai/error.ts';
import { objectOf } from '../../json-object.ts';

/** Undefined: it did not fail. One that is incomplete without an error was cut at a limit, or by a filter: that is an answer. */
export function failureOf(response: JsonObject | undefined, provider: string): GatewayError | undefined {
  const error = objectOf(response?.error);
  if (response === undefined || (response.status !== 'failed' && error === undefined)) return undefined;
  const own = error?.code === 'rate_limit_exceeded' ? { ...error, status: 429 } : (error ?? {});
  return errorInside({ error: own }, provider);
}
