// Gives the call its trace id, counts it while it runs, and writes its one entry
// when it ends, however it ends.
import { getOption } from '@bufbuild/protobuf';
import { Plane, unlogged } from '../../../gen/gateway/options/v2/options_pb.ts';
import type { Call } from '../../call/call.ts';
import type { OutcomeRecord, RequestRecord } from '../../call/record.ts';
import { loggedError } from '../../lib/error-words.ts';
import { fail, type GatewayError, invalidHeader, type Reason, toGatewayError } from '../../lib/errors.ts';
import { randomId } from '../../lib/random-id.ts';
import { readTimeout, timedOut } from '../../lib/request-timeout.ts';
import { parseTraceparent } from '../../lib/trace-context.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { CallSpans } from '../../telemetry/call-spans.ts';
import type { CallLog } from '../call-log.ts';
import { type Interceptor, isStream, watched } from '../handler.ts';

/** Printable ASCII, so that an id can be written into headers and logs as it is. */
const TRACE_ID = /^[\x21-\x7e]{1,255}$/;

/** What is told of calls as they begin and end. */
export interface CallObserver {
  /** False: too many are in flight, and the call is refused. */
  begin(): boolean;
  end(operation: string, status: number, ms: number, reason: Reason | undefined): void;
  /** Undefined when the call's attempts are complete; else resolves when they are. */
  complete(call: Call): Promise<void> | undefined;
  /**
   * One entry per authenticated call of the data plane, or one that is complete soon. The answer may end when the promise
   * resolves.
   */
  record(entry: RequestRecord | Promise<RequestRecord>, call: Call): Promise<void> | undefined;
}

/** @param spans undefined when telemetry is off @param tell undefined when the log has no line for each call */
export function traceInterceptor(observer: CallObserver, spans?: CallSpans, tell?: CallLog): Interceptor {
  return (method) => {
    const operation = `${method.parent.typeName}/${method.name}`;
    const logged = annotationsOf(method).plane === Plane.DATA && !getOption(method, unlogged);

    const finish = (
      call: Call,
      error: GatewayError | undefined,
      left: boolean,
    ): Promise<void> | undefined => {
      call.ended();
      call.streamHooks?.();
      const ms = call.elapsedMs();
      const status = error?.status ?? call.record.status ?? 200;
      observer.end(operation, left ? 499 : status, ms, error?.reason);
      tell?.(call, operation, left ? 499 : status, ms, error);
      if (!logged || !call.principal) {
        if (call.traceContext) spans?.ended(entryOf(call, operation, error, left, ms), call.traceContext);
        return undefined;
      }
      const complete = observer.complete(call);
      const entry = (): RequestRecord => entryOf(call, operation, error, left, ms);
      return observer.record(complete === undefined ? entry() : complete.then(entry), call);
    };

    return (next) => async (input, call) => {
      // Made first, so that a refused call has one too; the caller's replaces it.
      if (call.traceId === '') call.traceId = randomId();
      if (!observer.begin()) {
        throw fail('overloaded', 'the gateway is at its limit of calls in flight', { retryAfterMs: 1000 });
      }
      try {
        call.traceId = givenTraceId(call) ?? call.traceId;
        if (spans !== undefined) call.traceContext = spans.begin(call);
        const timeoutMs = readTimeout(call.headers);
        if (timeoutMs !== undefined) call.expireAfter(timeoutMs, () => timedOut(timeoutMs));
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

/** The text when it can be a trace id. */
export function validTraceId(text: string | undefined): string | undefined {
  return text !== undefined && TRACE_ID.test(text) ? text : undefined;
}

function givenTraceId(call: Call): string | undefined {
  const given = call.headers.get('trace-id');
  if (given === undefined || given === '')
    return parseTraceparent(call.headers.plain('traceparent'))?.traceId;
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
  const { record: callRecord, principal } = call;
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
    provider: callRecord.provider,
    model: callRecord.model,
    responseModel: callRecord.responseModel,
    statusCode: gone ? 499 : (error?.status ?? callRecord.status ?? 200),
    outcome: gone ? 'cancelled' : outcomeOf(call, error),
    streamed: callRecord.streamed,
    latencyMs: round(ms),
    metadata: callRecord.metadata,
    attempts: callRecord.attempts,
  };
  if (callRecord.timeToFirstTokenMs !== undefined)
    entry.timeToFirstTokenMs = round(callRecord.timeToFirstTokenMs);
  if (callRecord.usage) entry.usage = callRecord.usage;
  if (callRecord.usageEstimated) entry.usageEstimated = true;
  if (error) entry.error = loggedError(error, call.wordless);
  addRouting(entry, call);
  return entry;
}

/** Members that most entries do not have. */
function addRouting(entry: { -readonly [K in keyof RequestRecord]: RequestRecord[K] }, call: Call): void {
  const { record: callRecord, principal } = call;
  if (principal?.userId !== undefined) entry.userId = principal.userId;
  if (callRecord.cacheStatus !== 'DISABLED') entry.cacheStatus = callRecord.cacheStatus;
  if (callRecord.config !== undefined) entry.config = callRecord.config;
  if (callRecord.virtualKey !== undefined) entry.virtualKey = callRecord.virtualKey;
  if (callRecord.prompt !== undefined) entry.prompt = callRecord.prompt;
  if (callRecord.promptVersion !== undefined) entry.promptVersion = callRecord.promptVersion;
  if (callRecord.mode !== undefined) entry.mode = callRecord.mode;
  const { targetPath, attempts } = callRecord;
  // Nearly all entries are of the config itself: who reads one with attempts knows.
  if (targetPath !== '' && (targetPath !== 'config' || attempts.length === 0)) entry.targetPath = targetPath;
  if (callRecord.retries > 0) entry.retries = callRecord.retries;
  if (callRecord.rescued) entry.rescued = true;
  if (callRecord.spans !== undefined) entry.spans = callRecord.spans;
  addSpan(entry, call);
}

/** Where the caller says that the request is in its trace. */
function addSpan(entry: { -readonly [K in keyof RequestRecord]: RequestRecord[K] }, { headers }: Call): void {
  const spanId = validTraceId(headers.get('span-id'));
  if (spanId !== undefined) entry.spanId = spanId;
  const parentSpanId = validTraceId(headers.get('parent-span-id'));
  if (parentSpanId !== undefined) entry.parentSpanId = parentSpanId;
  const name = headers.get('span-name');
  if (name !== undefined && name.length <= 255) entry.spanName = name;
}

function outcomeOf(call: Call, error: GatewayError | undefined): OutcomeRecord {
  if (error) return call.record.timeToFirstTokenMs === undefined ? 'error' : 'interrupted';
  return call.record.outcome ?? ((call.record.status ?? 200) >= 400 ? 'error' : 'success');
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
