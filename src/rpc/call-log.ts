// One line of the log for each call, where the level asks for it.
import type { Logger } from 'pino';
import type { Call } from '../call/call.ts';
import type { GatewayError } from '../lib/errors.ts';

/** Tells of a call that has ended. */
export type CallLog = (
  call: Call,
  operation: string,
  status: number,
  ms: number,
  error: GatewayError | undefined,
) => void;

/** Undefined when the log level leaves the line out. */
export function callLog(log: Logger): CallLog | undefined {
  if (!log.isLevelEnabled('debug')) return undefined;
  return (call, operation, status, ms, error) => {
    const { record, traceContext } = call;
    log.debug(
      {
        requestId: call.id,
        traceId: call.traceId,
        ...(traceContext && { trace_id: traceContext.traceId, span_id: traceContext.spanId }),
        operation,
        protocol: call.source.protocol,
        status,
        ms: Math.round(ms * 1000) / 1000,
        ...(record.provider !== '' && { provider: record.provider }),
        ...(record.model !== '' && { model: record.model }),
        ...(error && { reason: error.reason }),
      },
      'a call has ended',
    );
  };
}
