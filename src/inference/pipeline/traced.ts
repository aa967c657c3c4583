// The trace that a call is in, told to the provider that an attempt calls (W3C Trace Context).
import type { Call } from '../../call/call.ts';
import type { OutboundRequest } from '../../lib/egress/outbound.ts';
import { spanIdOf, withTraceContext } from '../../lib/trace-context.ts';

/** The request as it goes out: the same one where providers are told nothing. */
export function traced(call: Call, request: OutboundRequest, attemptId: string): OutboundRequest {
  const headers = tracedHeaders(call, request.headers, attemptId);
  return headers === request.headers ? request : { ...request, headers };
}

/** Flat pairs, with `traceparent` and `tracestate` of the attempt's span in the place of the caller's. */
export function tracedHeaders(
  { traceContext }: Call,
  headers: readonly string[],
  attemptId: string,
): readonly string[] {
  if (traceContext === undefined || !traceContext.propagates) return headers;
  return withTraceContext(headers, traceContext, spanIdOf(attemptId));
}
