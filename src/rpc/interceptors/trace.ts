// Gives the call its trace id and its place in the trace.
import type { Call } from '../../call/call.ts';
import { invalidHeader } from '../../lib/errors.ts';
import { parseTraceparent, validTraceId } from '../../lib/trace-context.ts';
import type { CallSpans } from '../../telemetry/call-spans.ts';
import type { Interceptor } from '../handler.ts';

/** @param spans undefined when telemetry is off */
export function traceInterceptor(spans?: CallSpans): Interceptor {
  return () => (next) => (input, call) => {
    const given = givenTraceId(call);
    if (given !== undefined) call.traceId = given;
    if (spans !== undefined) call.traceContext = spans.begin(call);
    return next(input, call);
  };
}

function givenTraceId(call: Call): string | undefined {
  const given = call.headers.get('trace-id');
  if (given === undefined || given === '')
    return parseTraceparent(call.headers.plain('traceparent'))?.traceId;
  if (validTraceId(given) === undefined) {
    throw invalidHeader(
      `${call.headers.names.canonical}trace-id`,
      'must be 1 to 255 printable ASCII characters',
    );
  }
  return given;
}
