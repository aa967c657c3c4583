// Every action that the audit annotation names, and every refused authentication on
// the control plane, is told to the audit sink, allowed or not. It stands outside
// auth so that it sees refusals.
import { Plane } from '../../../gen/gateway/options/v2/options_pb.ts';
import type { Call } from '../../access/call.ts';
import { toGatewayError } from '../../lib/errors.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { Interceptor } from '../handler.ts';

/** One action, or the attempt at one. Holds no secret. */
export interface AuditEvent {
  readonly at: number;
  readonly requestId: string;
  readonly operation: string;
  readonly verb: string;
  readonly resource: string;
  readonly outcome: 'allowed' | 'refused' | 'failed';
  readonly reason: string;
  readonly keyId: string;
  readonly organisationId: string;
  readonly remote: string;
  readonly path: string;
}

/** Where audit events go. */
export type AuditSink = (event: AuditEvent) => void;

export function auditInterceptor(sink: AuditSink): Interceptor {
  return (method) => {
    const { audit, plane } = annotationsOf(method);
    const operation = `${method.parent.typeName}/${method.name}`;
    const event = (call: Call, outcome: AuditEvent['outcome'], reason: string): AuditEvent => ({
      at: call.arrivedAt,
      requestId: call.id,
      operation,
      verb: audit.none ? 'authenticate' : audit.verb,
      resource: audit.resource,
      outcome,
      reason,
      keyId: call.principal?.keyId ?? '',
      organisationId: call.principal?.organisationId ?? '',
      remote: call.source.remote,
      path: call.source.path,
    });
    if (plane !== Plane.CONTROL) return (next) => next;
    return (next) => async (input, call) => {
      try {
        const output = await next(input, call);
        if (!audit.none) sink(event(call, 'allowed', ''));
        return output;
      } catch (thrown) {
        const error = toGatewayError(thrown);
        const refused = error.reason === 'unauthenticated' || error.reason === 'forbidden';
        if (refused || !audit.none) sink(event(call, refused ? 'refused' : 'failed', error.reason));
        throw thrown;
      }
    };
  };
}
