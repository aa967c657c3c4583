// A log entry as a JSON array by position: member names would double what is written, sent and stored for
// every request.
import type { OutcomeRecord, RequestRecord, SpanRecord } from '../../call/record.ts';
import {
  type AttemptTuple,
  attemptRecord,
  attemptTuple,
  type ErrorTuple,
  optional,
  priceMarked,
  priceMarks,
  type UsageTuple,
  usageRecord,
  usageTuple,
} from './attempt-tuple.ts';

type SpanTuple = [
  kind: SpanRecord['kind'],
  name: string,
  startedAt: number,
  latencyMs: number,
  verdict: string,
];

/** What only some calls have; written when there is any of it. */
export type RareTuple = [
  userId: string | null,
  cacheStatus: string | null,
  saved: string | null,
  config: string | null,
  virtualKey: string | null,
  prompt: string | null,
  promptVersion: number | null,
  mode: RequestRecord['mode'] | null,
  retries: number | null,
  spans: SpanTuple[] | null,
  spanId: string | null,
  spanName: string | null,
  parentSpanId: string | null,
  keepDays: number | null,
  // Entries from before these were kept end here.
  budgets?: readonly string[] | null,
  targetPath?: string | null,
  promptCacheSaved?: string,
];

/** The first five decide where an entry is kept, and that it is kept once. */
export type EntryTuple = [
  id: string,
  organisationId: string,
  workspaceId: string,
  createdAt: number,
  statusCode: number,
  traceId: string,
  apiKeyId: string,
  operation: string,
  protocol: string,
  method: string,
  path: string,
  provider: string,
  model: string,
  responseModel: string,
  outcome: OutcomeRecord,
  streamed: boolean,
  latencyMs: number,
  timeToFirstTokenMs: number | null,
  usage: UsageTuple | null,
  error: ErrorTuple | null,
  metadata: Readonly<Record<string, string>>,
  attempts: AttemptTuple[],
  // Entries from before these were kept end here.
  cost?: string | null,
  marks?: number,
  rare?: RareTuple | null,
];

const RESCUED = 4;
const INSERTED = 8;
const BODIES = 16;

export function entryTuple(entry: RequestRecord): EntryTuple {
  return [
    entry.id,
    entry.organisationId,
    entry.workspaceId,
    entry.createdAt,
    entry.statusCode,
    entry.traceId,
    entry.apiKeyId,
    entry.operation,
    entry.protocol,
    entry.method,
    entry.path,
    entry.provider,
    entry.model,
    entry.responseModel,
    entry.outcome,
    entry.streamed,
    entry.latencyMs,
    entry.timeToFirstTokenMs ?? null,
    entry.usage ? usageTuple(entry.usage) : null,
    entry.error ? [entry.error.reason, entry.error.message] : null,
    entry.metadata,
    entry.attempts.map((attempt) => attemptTuple(attempt, entry)),
    entry.cost ?? null,
    marksOf(entry),
    rareTuple(entry),
  ];
}

/** The entry of a tuple. */
export function entryRecord(t: EntryTuple): RequestRecord {
  const above = {
    provider: t[11],
    model: t[12],
    responseModel: t[13],
    outcome: t[14],
    usage: t[18],
    cost: t[22],
  };
  const attempts = t[21].map((attempt) => attemptRecord(attempt, above));
  // An attempt that shares its usage with the request says what few usages have.
  const shared = t[18] === null ? -1 : t[21].findIndex((attempt) => attempt[9] === null);
  const usage = attempts[shared]?.usage ?? (t[18] && usageRecord(t[18]));
  return {
    id: t[0],
    organisationId: t[1],
    workspaceId: t[2],
    createdAt: t[3],
    statusCode: t[4],
    traceId: t[5],
    apiKeyId: t[6],
    operation: t[7],
    protocol: t[8],
    method: t[9],
    path: t[10],
    provider: t[11],
    model: t[12],
    responseModel: t[13],
    outcome: t[14],
    streamed: t[15],
    latencyMs: t[16],
    ...optional('timeToFirstTokenMs', t[17]),
    ...optional('usage', usage),
    ...optional('error', t[19] && { reason: t[19][0], message: t[19][1] }),
    metadata: t[20],
    attempts,
    ...optional('cost', t[22]),
    ...priceMarked(t[23]),
    ...marked(t[23]),
    ...(t[24] ? rareMembers(t[24]) : {}),
  };
}

function rareTuple(entry: RequestRecord): RareTuple | null {
  const { userId, cacheStatus, saved, config, virtualKey, prompt, promptVersion } = entry;
  const {
    mode,
    retries,
    spans,
    spanId,
    spanName,
    parentSpanId,
    keepDays,
    budgets,
    targetPath,
    promptCacheSaved,
  } = entry;
  const none =
    userId === undefined &&
    cacheStatus === undefined &&
    saved === undefined &&
    config === undefined &&
    virtualKey === undefined &&
    prompt === undefined &&
    promptVersion === undefined &&
    mode === undefined &&
    retries === undefined &&
    spans === undefined &&
    spanId === undefined &&
    spanName === undefined &&
    parentSpanId === undefined &&
    keepDays === undefined &&
    budgets === undefined &&
    targetPath === undefined &&
    promptCacheSaved === undefined;
  if (none) return null;
  return [
    userId ?? null,
    cacheStatus ?? null,
    saved ?? null,
    config ?? null,
    virtualKey ?? null,
    prompt ?? null,
    promptVersion ?? null,
    mode ?? null,
    retries ?? null,
    spans?.map(({ kind, name, startedAt, latencyMs, verdict }): SpanTuple => {
      return [kind, name, startedAt, latencyMs, verdict];
    }) ?? null,
    spanId ?? null,
    spanName ?? null,
    parentSpanId ?? null,
    keepDays ?? null,
    ...lastOf(budgets, targetPath, promptCacheSaved),
  ];
}

/** Written up to the last that there is. */
function lastOf(
  budgets: readonly string[] | undefined,
  targetPath: string | undefined,
  promptCacheSaved: string | undefined,
): [] | [readonly string[]] | [readonly string[] | null, string | null, string?] {
  if (promptCacheSaved !== undefined) return [budgets ?? null, targetPath ?? null, promptCacheSaved];
  if (targetPath !== undefined) return [budgets ?? null, targetPath];
  return budgets === undefined ? [] : [budgets];
}

function rareMembers(t: RareTuple): Partial<RequestRecord> {
  return {
    ...optional('userId', t[0]),
    ...optional('cacheStatus', t[1]),
    ...optional('saved', t[2]),
    ...optional('config', t[3]),
    ...optional('virtualKey', t[4]),
    ...optional('prompt', t[5]),
    ...optional('promptVersion', t[6]),
    ...optional('mode', t[7]),
    ...optional('retries', t[8]),
    ...optional('spans', t[9]?.map(spanRecord)),
    ...optional('spanId', t[10]),
    ...optional('spanName', t[11]),
    ...optional('parentSpanId', t[12]),
    ...optional('keepDays', t[13]),
    ...optional('budgets', t[14]),
    ...optional('targetPath', t[15]),
    ...optional('promptCacheSaved', t[16]),
  };
}

function spanRecord([kind, name, startedAt, latencyMs, verdict]: SpanTuple): SpanRecord {
  return { kind, name, startedAt, latencyMs, verdict };
}

function marksOf(entry: RequestRecord): number {
  return (
    priceMarks(entry) |
    (entry.rescued ? RESCUED : 0) |
    (entry.inserted ? INSERTED : 0) |
    (entry.bodies ? BODIES : 0)
  );
}

function marked(marks = 0): Partial<RequestRecord> {
  return {
    ...(marks & RESCUED ? { rescued: true } : {}),
    ...(marks & INSERTED ? { inserted: true } : {}),
    ...(marks & BODIES ? { bodies: true } : {}),
  };
}

/** Whether an entry's marks say that another target rescued it. */
export function isRescued(marks: number | undefined): boolean {
  return ((marks ?? 0) & RESCUED) !== 0;
}
