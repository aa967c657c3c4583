// The request log's entry of a call that has ended.
import type { Call } from '../call/call.ts';
import type { OutcomeRecord, RequestRecord } from '../call/record.ts';
import { loggedError } from '../lib/error-words.ts';
import type { GatewayError } from '../lib/errors.ts';
import { validTraceId } from '../lib/trace-context.ts';

type Entry = { -readonly [K in keyof RequestRecord]: RequestRecord[K] };

/** How a call ended. */
export interface CallEnd {
  /** The method's full name. */
  readonly operation: string;
  readonly error: GatewayError | undefined;
  /** The client left before the answer ended. */
  readonly left: boolean;
  /** Milliseconds since it arrived. */
  readonly ms: number;
}

/** The entry of a call, without prices. */
export function entryOf(call: Call, { operation, error, left, ms }: CallEnd): RequestRecord {
  const { record: callRecord, principal } = call;
  const gone = left || error?.reason === 'client_closed';
  const entry: Entry = {
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
function addRouting(entry: Entry, call: Call): void {
  const { record: callRecord, principal } = call;
  if (principal?.userId !== undefined) entry.userId = principal.userId;
  if (callRecord.cacheStatus !== 'DISABLED') entry.cacheStatus = callRecord.cacheStatus;
  if (callRecord.config !== undefined) entry.config = callRecord.config;
  if (callRecord.virtualKey !== undefined) entry.virtualKey = callRecord.virtualKey;
  if (callRecord.prompt !== undefined) entry.prompt = callRecord.prompt;
  if (callRecord.promptVersion !== undefined) entry.promptVersion = callRecord.promptVersion;
  if (callRecord.mode !== undefined) entry.mode = callRecord.mode;
  const { targetPath, attempts } = callRecord;
  // Most targets are the config itself: left out where there are attempts, and readers put it back.
  if (targetPath !== '' && (targetPath !== 'config' || attempts.length === 0)) entry.targetPath = targetPath;
  if (callRecord.retries > 0) entry.retries = callRecord.retries;
  if (callRecord.rescued) entry.rescued = true;
  if (callRecord.spans !== undefined) entry.spans = callRecord.spans;
  addSpan(entry, call);
}

/** The span that the caller names for the request, and the one above it. */
function addSpan(entry: Entry, { headers }: Call): void {
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
