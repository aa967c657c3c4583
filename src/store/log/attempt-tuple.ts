// An attempt of a log entry as a JSON array by position. What it shares with its request, as nearly all do, is
// written once: null stands for "as above".
import type { AttemptRecord, OutcomeRecord, RequestRecord, UsageRecord } from '../../call/record.ts';

export type UsageTuple = [
  promptTokens: number,
  totalTokens: number,
  completionTokens?: number | null,
  cachedTokens?: number | null,
  cacheCreationTokens?: number | null,
  reasoningTokens?: number | null,
];
export type ErrorTuple = [reason: string, message: string];

export type AttemptTuple = [
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
  more?: AttemptMore | null,
];

/** What only some attempts have, by its members' names. */
type AttemptMore = Pick<AttemptRecord, 'serviceTier' | 'pricing' | 'budgets'> & {
  readonly media?: Partial<UsageRecord>;
};

/** What an attempt takes from its request's tuple. */
export interface Above {
  readonly provider: string;
  readonly model: string;
  readonly responseModel: string;
  readonly outcome: OutcomeRecord;
  readonly usage: UsageTuple | null;
  readonly cost: string | null | undefined;
}

const MEDIA = [
  'inputAudioTokens',
  'outputAudioTokens',
  'inputImageTokens',
  'outputImageTokens',
  'cachedAudioTokens',
  'acceptedPredictionTokens',
  'rejectedPredictionTokens',
  'cacheCreation1hTokens',
  'searchUnits',
  'webSearches',
  'images',
  'imageKind',
  'audioMs',
  'videoMs',
  'characters',
  'pages',
  'trainedTokens',
] as const;

const ESTIMATED = 1;
const UNPRICED = 2;

export function attemptTuple(attempt: AttemptRecord, entry: RequestRecord): AttemptTuple {
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
    priceMarks(attempt),
    ...moreOf(attempt),
  ];
}

export function attemptRecord(t: AttemptTuple, above: Above): AttemptRecord {
  const usage = t[9] === null ? above.usage : t[9];
  return {
    id: t[0],
    provider: t[1] ?? above.provider,
    host: t[2],
    model: t[3] ?? above.model,
    statusCode: t[4],
    outcome: t[5] ?? above.outcome,
    startedAt: t[6],
    latencyMs: t[7],
    ...optional('timeToFirstTokenMs', t[8]),
    ...optional('usage', usage ? { ...usageRecord(usage), ...t[14]?.media } : undefined),
    ...optional('error', t[10] && { reason: t[10][0], message: t[10][1] }),
    ...optional('responseModel', t[11] === null ? above.responseModel : own(t[11])),
    ...optional('cost', t[12] === null ? above.cost : own(t[12])),
    ...priceMarked(t[13]),
    ...(t[14] ? moreMembers(t[14]) : {}),
  };
}

function moreOf({ serviceTier, pricing, budgets, usage }: AttemptRecord): [AttemptMore] | [] {
  const media = usage && mediaOf(usage);
  if (!(serviceTier || pricing || budgets || media)) return [];
  return [{ serviceTier, pricing, budgets, media } as AttemptMore];
}

function moreMembers({ serviceTier, pricing, budgets }: AttemptMore): Partial<AttemptRecord> {
  return {
    ...optional('serviceTier', serviceTier),
    ...optional('pricing', pricing),
    ...optional('budgets', budgets),
  };
}

/** Counts that few usages have. */
function mediaOf(usage: UsageRecord): Partial<UsageRecord> | undefined {
  const found = MEDIA.filter((name) => usage[name] !== undefined);
  return found.length === 0 ? undefined : Object.fromEntries(found.map((name) => [name, usage[name]]));
}

/** What is as in the request is written as null, what is not there as 0. */
function shared(mine: string | undefined, above: string | undefined): string | null | 0 {
  return mine === undefined ? 0 : mine === above ? null : mine;
}

function own(value: string | 0 | undefined): string | undefined {
  return value === 0 ? undefined : value;
}

interface Marked {
  readonly usageEstimated?: true;
  readonly unpriced?: true;
}

export function priceMarks({ usageEstimated, unpriced }: Marked): number {
  return (usageEstimated ? ESTIMATED : 0) | (unpriced ? UNPRICED : 0);
}

export function priceMarked(marks = 0): Marked {
  return {
    ...(marks & ESTIMATED ? { usageEstimated: true } : {}),
    ...(marks & UNPRICED ? { unpriced: true } : {}),
  };
}

export function usageTuple(usage: UsageRecord): UsageTuple {
  const { promptTokens, totalTokens, completionTokens, cachedTokens, cacheCreationTokens, reasoningTokens } =
    usage;
  return [promptTokens, totalTokens, completionTokens, cachedTokens, cacheCreationTokens, reasoningTokens];
}

export function usageRecord(t: UsageTuple): UsageRecord {
  const [promptTokens, totalTokens, completion, cached, creation, reasoning] = t;
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
export function optional<K extends string, V>(key: K, value: V | null | undefined): { [key in K]?: V } {
  return (value === null || value === undefined ? {} : { [key]: value }) as { [key in K]?: V };
}
