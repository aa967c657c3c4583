// Takes a place among the calls in flight for an authenticated call, until its answer has ended.
import { Plane } from '../../../gen/gateway/options/v2/options_pb.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { Interceptor } from '../handler.ts';
import type { InFlight } from '../in-flight.ts';

export function inFlightInterceptor(inFlight: InFlight): Interceptor {
  return (method) => {
    const control = annotationsOf(method).plane === Plane.CONTROL;
    return (next) => (input, call) => {
      const { principal } = call;
      const leave = inFlight.enter(control, principal?.workspaceId ?? principal?.organisationId ?? '');
      if (leave === undefined) throw tooMany();
      call.atEnd(leave);
      return next(input, call);
    };
  };
}

/** 503 with a retry-after of one second, because the end of calls in flight is unknown. */
export function tooMany(): GatewayError {
  return fail('overloaded', 'the gateway is at its limit of calls in flight', { retryAfterMs: 1000 });
}
