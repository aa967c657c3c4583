// A batch of entries as one string, a line an entry, each a JSON array by position: member
// names would double what is written, sent and stored for every request.
import { setImmediate } from 'node:timers/promises';
import type { AttemptRecord, OutcomeRecord, RequestRecord, UsageRecord } from '../request-log.ts';

type UsageTuple = [
  promptTokens: number,
  totalTokens: number,
  completionTokens?: number | null,
  cachedTokens?: number | null,
  cacheCreationTokens?: number | null,
  reasoningTokens?: number | null,
];
type ErrorTuple = [reason: string, message: string];

type AttemptTuple = [
  id: string,
  provider: string | null,
  host: string,
  model: string | null,
  statusCode: number,
  outcome: OutcomeRecord | null,
  startedAt: number,
  latencyMs: number,
  timeToFirstTokenMs: number | null,
  usage: UsageTuple | null | 0,
  error: ErrorTuple | null,
  // Entries from before these were kept end here.
  responseModel?: string | null | 0,
  cost?: string | null | 0,
  marks?: number,
];

/** The first six are the columns of the table. */
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
];

const ESTIMATED = 1;
const UNPRICED = 2;

/** Entries written between two turns of the event loop: about a millisecond's work. */
const SLICE = 256;

/** The batch as text. Gives way to other work in between. */
export async function encodeBatch(batch: readonly RequestRecord[]): Promise<string> {
  let text = '';
  for (let i = 0; i < batch.length; i++) {
    if (i > 0 && i % SLICE === 0) await setImmediate();
    text += `${JSON.stringify(entryTuple(batch[i] as RequestRecord))}\n`;
  }
  return text;
}

/** Calls `each` with every entry of a batch and its text. */
export function decodeBatch(batch: string, each: (entry: EntryTuple, text: string) => void): void {
  let at = 0;
  while (at < batch.length) {
    const end = batch.indexOf('\n', at);
    const text = batch.slice(at, end);
    each(JSON.parse(text) as EntryTuple, text);
    at = end + 1;
  }
}

/** An entry from its stored text. */
export function decodeEntry(text: string): RequestRecord {
  const t = JSON.parse(text) as EntryTuple;
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
    ...optional('usage', t[18] && usageRecord(t[18])),
    ...optional('error', t[19] && { reason: t[19][0], message: t[19][1] }),
    metadata: t[20],
    attempts: t[21].map((attempt) => attemptRecord(attempt, t)),
    ...optional('cost', t[22]),
    ...marked(t[23]),
  };
}

function entryTuple(entry: RequestRecord): EntryTuple {
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
  ];
}

/** What an attempt shares with its request, as nearly all do, is written once: null stands for "as above". */
function attemptTuple(attempt: AttemptRecord, entry: RequestRecord): AttemptTuple {
  const { provider, model, outcome, usage } = attempt;
  return [
    attempt.id,
    provider === entry.provider ? null : provider,
    attempt.host,
    model === entry.model ? null : model,
    attempt.statusCode,
    outcome === entry.outcome ? null : outcome,
    attempt.startedAt,
    attempt.latencyMs,
    attempt.timeToFirstTokenMs ?? null,
    usage === undefined ? 0 : usage === entry.usage ? null : usageTuple(usage),
    attempt.error ? [attempt.error.reason, attempt.error.message] : null,
    shared(attempt.responseModel, entry.responseModel),
    shared(attempt.cost, entry.cost),
    marksOf(attempt),
  ];
}

function attemptRecord(t: AttemptTuple, entry: EntryTuple): AttemptRecord {
  const usage = t[9] === null ? entry[18] : t[9];
  return {
    id: t[0],
    provider: t[1] ?? entry[11],
    host: t[2],
    model: t[3] ?? entry[12],
    statusCode: t[4],
    outcome: t[5] ?? entry[14],
    startedAt: t[6],
    latencyMs: t[7],
    ...optional('timeToFirstTokenMs', t[8]),
    ...optional('usage', usage ? usageRecord(usage) : undefined),
    ...optional('error', t[10] && { reason: t[10][0], message: t[10][1] }),
    ...optional('responseModel', t[11] === null ? entry[13] : t[11] || undefined),
    ...optional('cost', t[12] === null ? entry[22] : t[12] || undefined),
    ...marked(t[13]),
  };
}

/** What is as in the request is written as null, what is not there as 0. */
function shared(own: string | undefined, above: string | undefined): string | null | 0 {
  return own === undefined ? 0 : own === above ? null : own;
}

interface Marked {
  readonly usageEstimated?: true;
  readonly unpriced?: true;
}

function marksOf({ usageEstimated, unpriced }: Marked): number {
  return (usageEstimated ? ESTIMATED : 0) | (unpriced ? UNPRICED : 0);
}

function marked(marks = 0): Marked {
  return {
    ...(marks & ESTIMATED ? { usageEstimated: true } : {}),
    ...(marks & UNPRICED ? { unpriced: true } : {}),
  };
}

function usageTuple(usage: UsageRecord): UsageTuple {
  const { promptTokens, totalTokens, completionTokens, cachedTokens, cacheCreationTokens, reasoningTokens } =
    usage;
  return [promptTokens, totalTokens, completionTokens, cachedTokens, cacheCreationTokens, reasoningTokens];
}

function usageRecord([
  promptTokens,
  totalTokens,
  completion,
  cached,
  creation,
  reasoning,
]: UsageTuple): UsageRecord {
  return {
    promptTokens,
    totalTokens,
    ...optional('completionTokens', completion),
    ...optional('cachedTokens', cached),
    ...optional('cacheCreationTokens', creation),
    ...optional('reasoningTokens', reasoning),
  };
}

/** The member when there is one: absent stays absent. */
function optional<K extends string, V>(key: K, value: V | null | undefined): { [key in K]?: V } {
  return (value === null || value === undefined ? {} : { [key]: value }) as { [key in K]?: V };
}
