// A prepared filter, and the rows of a segment that match it.
import type { LogFilter } from '../../request-log.ts';
import {
  type Condition,
  costCondition,
  latencyCondition,
  type Narrow,
  pairCondition,
  providerModelCondition,
  rangeCondition,
  textCondition,
} from './conditions.ts';
import type { TextHash } from './hash.ts';
import { checkTime } from './question-time.ts';
import { Scratch, type Segment } from './segment.ts';
import type { TextName } from './segment-head.ts';
import { searchCondition } from './text-search.ts';
import { ValueTables } from './value-table.ts';

export interface LogScope {
  readonly org: string;
  readonly workspace: string | null;
}

/** By which column each list of a filter is held. */
const LISTS: readonly (readonly [keyof LogFilter & string, TextName])[] = [
  ['outcomes', 'outcome'],
  ['errorReasons', 'errorReason'],
  ['workspaceIds', 'workspace'],
  ['apiKeyIds', 'apiKey'],
  ['providers', 'provider'],
  ['models', 'model'],
  ['virtualKeys', 'virtualKey'],
  ['configs', 'config'],
  ['prompts', 'prompt'],
  ['userIds', 'userId'],
  ['spanIds', 'spanId'],
  ['traceIds', 'traceId'],
  ['ids', 'id'],
];

/** Rising rows at the begin of an array. */
export interface SelectedRows {
  readonly rows: Uint16Array;
  readonly count: number;
}

export class Selection {
  readonly scratch: Scratch;
  readonly hash: TextHash;
  readonly values: ValueTables;
  readonly #from: number;
  readonly #until: number;
  readonly #expiresAt: number;
  #conditions: readonly Condition[];

  /**
   * @param liked traces that match the filter's `feedback`
   * @param scratch which no other selection uses at the same time
   * @param expiresAt when its caller leaves, by `monotonicNow`: then no more is read
   */
  constructor(
    scope: LogScope,
    filter: LogFilter,
    hash: TextHash,
    liked: ReadonlySet<string> | undefined,
    values = new ValueTables(),
    scratch = new Scratch(),
    expiresAt = Number.POSITIVE_INFINITY,
  ) {
    this.#expiresAt = expiresAt;
    this.scratch = scratch;
    this.hash = hash;
    this.values = values;
    this.#from = filter.from ?? Number.NEGATIVE_INFINITY;
    this.#until = filter.until ?? Number.POSITIVE_INFINITY;
    this.#conditions = conditionsOf(scope, filter, liked);
  }

  /** The same with further conditions, to be used in its place. */
  and(conditions: readonly Condition[]): Selection {
    const time = { from: this.#from, until: this.#until };
    const none = { org: '', workspace: null };
    const narrower = new Selection(
      ...([none, time, this.hash, undefined, this.values, this.scratch, this.#expiresAt] as const),
    );
    narrower.#conditions = [...this.#conditions, ...conditions];
    return narrower;
  }

  overlaps({ minTime, maxTime }: { readonly minTime: number; readonly maxTime: number }): boolean {
    return maxTime >= this.#from && minTime < this.#until;
  }

  /**
   * The matching rows, ascending, at the start of an array that the next call reuses.
   * @throws FailureError store_unavailable when the caller is about to leave
   */
  rows(segment: Segment, from = this.#from, until = this.#until): SelectedRows {
    checkTime(this.#expiresAt);
    const rows = this.scratch.ids('rows', segment.count);
    const narrow: Narrow[] = [];
    for (const condition of this.#conditions) {
      const verdict = condition(segment, this.scratch, this.hash);
      if (verdict === 'none') return { rows, count: 0 };
      if (verdict !== 'all') narrow.push(verdict);
    }
    let count = this.#fill(segment, rows, from, until);
    for (const keep of narrow) {
      if (count === 0) break;
      count = keep(rows, count);
    }
    return { rows, count };
  }

  /** The matching rows of a span of time. */
  rowsWithin(segment: Segment, from: number, until: number): SelectedRows {
    return this.rows(segment, Math.max(from, this.#from), Math.min(until, this.#until));
  }

  /** All rows of a span of time. */
  #fill(segment: Segment, rows: Uint16Array, from: number, until: number): number {
    const { least = 0, greatest = 0 } = segment.head.numbers.time ?? {};
    let first = 0;
    let end = segment.count;
    if (least < from || greatest >= until) {
      const times = segment.numbers('time', this.scratch);
      first = firstFrom(times, segment.count, from);
      end = firstFrom(times, segment.count, until);
    }
    for (let i = first; i < end; i++) rows[i - first] = i;
    return Math.max(0, end - first);
  }
}

/** The first of rising times that is not before one. */
export function firstFrom(times: Float64Array, count: number, time: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The cheapest first. */
function conditionsOf(
  { org, workspace }: LogScope,
  filter: LogFilter,
  liked: ReadonlySet<string> | undefined,
): Condition[] {
  const column = (name: TextName, wanted: readonly string[] | ReadonlySet<string>, none = false): Condition =>
    textCondition(name, (segment) => segment.text(name), new Set(wanted), none);
  const conditions = [column('organisation', [org])];
  if (workspace !== null) conditions.push(column('workspace', [workspace]));
  const { statusCodes, cacheStatuses, providerModels, users, metadata } = filter;
  const { cost, totalTokens, promptTokens, completionTokens, latencyMs, text } = filter;
  if (statusCodes) conditions.push(column('statusCode', statusCodes.map(String)));
  if (cacheStatuses)
    conditions.push(column('cacheStatus', cacheStatuses, cacheStatuses.includes('DISABLED')));
  if (providerModels) conditions.push(providerModelCondition(providerModels));
  if (cost) conditions.push(costCondition(cost));
  if (totalTokens) conditions.push(rangeCondition(() => ['totalTokens', 1], totalTokens));
  if (promptTokens) conditions.push(rangeCondition(() => ['promptTokens', 1], promptTokens));
  if (completionTokens) conditions.push(rangeCondition(() => ['completionTokens', 1], completionTokens));
  if (latencyMs) conditions.push(latencyCondition(latencyMs));
  for (const [list, name] of LISTS) {
    const wanted = filter[list] as readonly string[] | undefined;
    if (wanted) conditions.push(column(name, wanted));
  }
  if (users) conditions.push(pairCondition('_user', new Set(users)));
  for (const [key, value] of Object.entries(metadata ?? {})) {
    conditions.push(pairCondition(key, new Set([value])));
  }
  if (liked) conditions.push(column('traceId', liked));
  if (text !== undefined) conditions.push(searchCondition(text));
  return conditions;
}
