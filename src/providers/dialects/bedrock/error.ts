// Errors in this dialect (Bedrock Runtime, "Common errors"): `{"message"}`, its kind in a header or in `__type`; within a
// stream a frame with `:exception-type`.
import { EXCEPTION } from '../../../lib/aws-event-stream.ts';
import { fail, type GatewayError } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { ProviderError } from '../../dialect.ts';
import { parsedObject, textOf } from '../../json-object.ts';
import { clip, readErrorBody } from '../../provider-error.ts';

/** HTTP statuses of exceptions, which come after the head. */
const STATUSES: Readonly<Record<string, number>> = Object.freeze({
  validationexception: 400,
  accessdeniedexception: 403,
  resourcenotfoundexception: 404,
  modeltimeoutexception: 408,
  servicequotaexceededexception: 400,
  modelerrorexception: 424,
  modelstreamerrorexception: 424,
  throttlingexception: 429,
  modelnotreadyexception: 429,
  internalserverexception: 500,
  internalfailure: 500,
  serviceunavailableexception: 503,
});

/** An error body. Never throws. */
export function readError(status: number, body: Uint8Array): ProviderError {
  const error = readErrorBody(status, body);
  const json = parsedObject(Buffer.from(body).subarray(0, 65_536).toString('utf8'));
  const message = textOf(json?.message) ?? textOf(json?.Message);
  const type = typeOf(textOf(json?.__type));
  return {
    ...error,
    ...(message === undefined ? {} : { message: clip(message) }),
    ...(type === undefined ? {} : { type }),
  };
}

/** Whether an event is an exception. */
export function isException({ event }: SseEvent): boolean {
  return event.startsWith(EXCEPTION);
}

/** The error that an exception within a stream speaks of; 502 for one that is not known. */
export function exceptionOf({ event, data }: SseEvent, provider: string): GatewayError {
  const type = event.slice(EXCEPTION.length);
  const json = parsedObject(data);
  const message = textOf(json?.message) ?? textOf(json?.Message) ?? textOf(json?.originalMessage);
  const known = type.toLowerCase();
  return fail('upstream_status', clip(message ?? (type || 'the provider reported an error without words')), {
    provider,
    status: (Object.hasOwn(STATUSES, known) ? STATUSES[known] : undefined) ?? 502,
    ...(type === '' ? {} : { type }),
  });
}

/** "com.amazon.coral.service#ValidationException" is a ValidationException. */
function typeOf(type: string | undefined): string | undefined {
  return type?.slice(type.lastIndexOf('#') + 1);
}
