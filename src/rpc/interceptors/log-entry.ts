// Writes the call's one entry when it ends, however it ends.
import { Plane, unlogged } from '../../../gen/gateway/options/v2/options_pb.ts';
import type { Call } from '../../call/call.ts';
import type { RequestRecord } from '../../call/record.ts';
import { optionOf } from '../../lib/contract-options.ts';
import { type GatewayError, isForWantOfRoom, type Reason, toGatewayError } from '../../lib/errors.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { CallSpans } from '../../telemetry/call-spans.ts';
import type { CallLog } from '../call-log.ts';
import { type CallEnd, entryOf } from '../entry-of.ts';
import { type Interceptor, isStream, watched } from '../handler.ts';

/** What is told of calls as they end. */
export interface CallObserver {
  end(operation: string, status: number, ms: number, reason: Reason | undefined): void;
  /** Undefined when the call's attempts are complete; else resolves when they are. */
  complete(call: Call): Promise<void> | undefined;
  /**
   * One entry per authenticated call of the data plane, or one that is complete soon. The answer may end when the promise
   * resolves.
   */
  record(entry: RequestRecord | Promise<RequestRecord>, call: Call): Promise<void> | undefined;
}

/**
 * Stands outside of every stage whose refusals count as calls.
 * @param spans undefined when telemetry is off @param tell undefined when the log has no line for each call
 */
export function logEntryInterceptor(observer: CallObserver, spans?: CallSpans, tell?: CallLog): Interceptor {
  return (method) => {
    const operation = `${method.parent.typeName}/${method.name}`;
    const logged = annotationsOf(method).plane === Plane.DATA && !optionOf(method, unlogged);

    const finish = (
      call: Call,
      error: GatewayError | undefined,
      left: boolean,
    ): Promise<void> | undefined => {
      call.ended();
      call.streamHooks?.();
      const end: CallEnd = { operation, error, left, ms: call.elapsedMs() };
      const status = left ? 499 : (error?.status ?? call.record.status ?? 200);
      observer.end(operation, status, end.ms, error?.reason);
      tell?.(call, operation, status, end.ms, error);
      const isRepeated = call.repeats && error !== undefined && isForWantOfRoom(error);
      if (!logged || !call.principal || isRepeated) {
        if (call.traceContext) spans?.ended(entryOf(call, end), call.traceContext, call.record.mcp);
        return undefined;
      }
      const complete = observer.complete(call);
      return observer.record(
        complete === undefined ? entryOf(call, end) : complete.then(() => entryOf(call, end)),
        call,
      );
    };

    return (next) => async (input, call) => {
      try {
        const output = await next(input, call);
        if (!isStream(output)) {
          const noted = finish(call, undefined, false);
          if (noted !== undefined) await noted;
          return output;
        }
        return watched(output, toGatewayError, (error, left) =>
          finish(call, error as GatewayError | undefined, left),
        );
      } catch (thrown) {
        const error = toGatewayError(thrown);
        await finish(call, error, false);
        throw error;
      }
    };
  };
}
