// Gives the call its trace id, counts it while it runs, and writes its one entry
// when it ends, however it ends.
import { randomUUID } from 'node:crypto';
import { Plane } from '../../../gen/gateway/options/v2/options_pb.ts';
import type { Call } from '../../access/call.ts';
import { fail, type GatewayError, invalidHeader, toGatewayError } from '../../lib/errors.ts';
import { readTimeout, timedOut } from '../../lib/request-timeout.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { OutcomeRecord, RequestRecord } from '../../store/request-log.ts';
import { type Interceptor, isStream, watched } from '../handler.ts';

/** Printable ASCII, so that an id can be written into headers and logs as it is. */
const TRACE_ID = /^[\x21-\x7e]{1,255}$/;

/** What is told of calls as they begin and end. */
export interface CallObserver {
  /** False: too many are in flight, and the call is refused. */
  begin(): boolean;
  end(operation: string, status: number, ms: number): void;
  /** Undefined when the call's attempts are complete; else resolves when they are. */
  complete(call: Call): Promise<void> | undefined;
  /** One entry per authenticated call of the data plane, or one that is complete soon. */
  record(entry: RequestRecord | Promise<RequestRecord>, call: Call): void;
}

export function traceInterceptor(observer: CallObserver): Interceptor {
  return (method) => {
    const operation = `${method.parent.typeName}/${method.name}`;
    const logged = annotationsOf(method).plane === Plane.DATA;

    const finish = (call: Call, error: GatewayError | undefined, left: boolean): void => {
      call.ended();
      const ms = call.elapsedMs();
      const status = error?.status ?? call.trail.status ?? 200;
      observer.end(operation, left ? 499 : status, ms);
      if (!logged || !call.principal) return;
      const complete = observer.complete(call);
      const entry = (): RequestRecord => entryOf(call, operation, error, left, ms);
      observer.record(complete === undefined ? entry() : complete.then(entry), call);
    };

    return (next) => async (input, call) => {
      // Made first, so that a refused call has one too; the caller's replaces it.
      if (call.traceId === '') call.traceId = randomUUID();
      if (!observer.begin()) {
        throw fail('overloaded', 'the gateway is at its limit of calls in flight', { retryAfterMs: 1000 });
      }
      try {
        call.traceId = givenTraceId(call) ?? call.traceId;
        const timeoutMs = readTimeout(call.headers);
        if (timeoutMs !== undefined) call.expireAfter(timeoutMs, () => timedOut(timeoutMs));
        const output = await next(input, call);
        if (!isStream(output)) {
          finish(call, undefined, false);
          return output;
        }
        return watched(output, toGatewayError, (error, left) =>
          finish(call, error as GatewayError | undefined, left),
        );
      } catch (thrown) {
        const error = toGatewayError(thrown);
        finish(call, error, false);
        throw error;
      }
    };
  };
}

/** The text when it can be a trace id. */
export function validTraceId(text: string | undefined): string | undefined {
  return text !== undefined && TRACE_ID.test(text) ? text : undefined;
}

function givenTraceId(call: Call): string | undefined {
  const given = call.headers.get('trace-id');
  if (given === undefined || given === '') return undefined;
  if (!TRACE_ID.test(given)) {
    throw invalidHeader(
      `${call.headers.names.canonical}trace-id`,
      'must be 1 to 255 printable ASCII characters',
    );
  }
  return given;
}

function entryOf(
  call: Call,
  operation: string,
  error: GatewayError | undefined,
  left: boolean,
  ms: number,
): RequestRecord {
  const { trail, principal } = call;
  const gone = left || error?.reason === 'client_closed';
  const entry: { -readonly [K in keyof RequestRecord]: RequestRecord[K] } = {
    id: call.id,
    traceId: call.traceId,
    organisationId: principal?.organisationId ?? '',
    workspaceId: principal?.workspaceId ?? '',
    apiKeyId: principal?.keyId ?? '',
    createdAt: call.arrivedAt,
    operation,
    protocol: call.source.protocol,
    method: call.source.httpMethod,
    path: call.source.path,
    provider: trail.provider,
    model: trail.model,
    responseModel: trail.responseModel,
    statusCode: gone ? 499 : (error?.status ?? trail.status ?? 200),
    outcome: gone ? 'cancelled' : outcomeOf(call, error),
    streamed: trail.streamed,
    latencyMs: round(ms),
    metadata: trail.metadata,
    attempts: trail.attempts,
  };
  if (trail.timeToFirstTokenMs !== undefined) entry.timeToFirstTokenMs = round(trail.timeToFirstTokenMs);
  if (trail.usage) entry.usage = trail.usage;
  if (trail.usageEstimated) entry.usageEstimated = true;
  if (error) entry.error = { reason: error.reason, message: error.message };
  return entry;
}

function outcomeOf(call: Call, error: GatewayError | undefined): OutcomeRecord {
  if (error) return call.trail.timeToFirstTokenMs === undefined ? 'error' : 'interrupted';
  return call.trail.outcome ?? ((call.trail.status ?? 200) >= 400 ? 'error' : 'success');
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
