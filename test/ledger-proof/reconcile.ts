// The books against what the provider counted, what callers got, and what budgets say.
import type { AttemptRecord, RequestRecord } from '../../src/call/record.ts';
import type { SeenAttempt } from './counting-provider.ts';

export interface Sides {
  readonly seen: ReadonlyMap<string, SeenAttempt>;
  readonly twice: readonly string[];
  readonly nameless: number;
  readonly entries: readonly RequestRecord[];
  /** Traces of answers that came whole. */
  readonly whole: ReadonlySet<string>;
  readonly budgets: readonly BudgetSide[];
  /** Holds that nobody settled. */
  readonly holds: number;
  /** Entries that are still on their way, or calls in flight that no process is in. */
  readonly left: number;
}

/** A key's budget as its counter has it. */
export interface BudgetSide {
  readonly keyId: string;
  readonly type: 'cost' | 'tokens';
  readonly spent: bigint;
  readonly held: bigint;
}

/** A row of the table; one with `wanted` is to be that. */
export interface Row {
  readonly name: string;
  readonly found: number | bigint;
  readonly wanted?: number | bigint;
  /** The first of those that are wrong. */
  readonly examples?: readonly string[];
}

export function reconcile(sides: Sides): Row[] {
  const { seen, entries, whole } = sides;
  const places = new Map<string, { readonly attempt: AttemptRecord; readonly entry: RequestRecord }[]>();
  for (const entry of entries)
    for (const attempt of entry.attempts) {
      const known = places.get(attempt.id);
      if (known) known.push({ attempt, entry });
      else places.set(attempt.id, [{ attempt, entry }]);
    }
  const traces = Map.groupBy(entries, ({ traceId }) => traceId);
  const wrong: Record<'missing' | 'repeated' | 'untrue' | 'unmarked' | 'refused', string[]> = {
    missing: [],
    repeated: [],
    untrue: [],
    unmarked: [],
    refused: [],
  };
  let finished = 0;
  let estimated = 0;
  for (const one of seen.values()) {
    const [place, ...more] = places.get(one.id) ?? [];
    if (place === undefined) {
      wrong.missing.push(one.id);
      continue;
    }
    if (more.length > 0) wrong.repeated.push(one.id);
    const { attempt, entry } = place;
    const ours = whole.has(entry.traceId) && entry.attempts.at(-1) === attempt;
    if (isTrue(attempt, one)) finished++;
    else if (isMarked(attempt)) estimated++;
    else if (one.status === 200) wrong.unmarked.push(`${one.id} ${JSON.stringify(attempt)}`);
    if (ours && !isTrue(attempt, one)) wrong.untrue.push(`${one.id} ${JSON.stringify(attempt)}`);
    if (one.status !== 200 && !isMarked(attempt) && attempt.usage !== undefined)
      wrong.refused.push(`${one.id} ${JSON.stringify(attempt)}`);
  }
  const unseen = [...places].filter(([id]) => !seen.has(id)).flatMap(([, list]) => list);
  return [
    { name: 'attempts that the provider saw', found: seen.size },
    row('  seen twice, or without an id', [...sides.twice], sides.nameless),
    row('  with no place in the books', wrong.missing),
    row('  with more than one', wrong.repeated),
    { name: '  as the provider told', found: finished },
    { name: '  interrupted or cancelled, with a marked estimate', found: estimated },
    row('  with neither', wrong.unmarked),
    row('  refused by the provider, and charged', wrong.refused),
    { name: 'answers that callers got whole', found: whole.size },
    row('  without the provider’s tokens', wrong.untrue),
    row(
      '  without an entry',
      [...whole].filter((trace) => !traces.has(trace)),
    ),
    { name: 'entries', found: entries.length },
    row('  of a call that has another', repeatedOf(entries.map(({ id }) => id))),
    row(
      '  of a trace that has another',
      [...traces].filter(([, list]) => list.length > 1).map(([trace]) => trace),
    ),
    { name: '  interrupted', found: entries.filter(({ outcome }) => outcome === 'interrupted').length },
    { name: '  attempts noted that the provider did not see', found: unseen.length },
    row(
      '  of them as if it had answered',
      unseen.filter(({ attempt }) => attempt.outcome === 'success').map(({ attempt }) => attempt.id),
    ),
    ...sides.budgets.flatMap((budget) => budgetRows(budget, entries)),
    { name: 'holds outstanding', found: sides.holds, wanted: 0 },
    { name: 'entries and calls left on the way', found: sides.left, wanted: 0 },
  ];
}

/** Whether all rows are as they are to be. */
export function holds(rows: readonly Row[]): boolean {
  return rows.every(({ found, wanted }) => wanted === undefined || found === wanted);
}

export function table(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  const lines = rows.map(({ name, found, wanted, examples = [] }) => {
    const verdict = wanted === undefined ? '' : found === wanted ? 'ok' : `WRONG, ${wanted} wanted`;
    const shown = found === wanted ? [] : examples.slice(0, 3).map((text) => `\n      ${text}`);
    return `${name.padEnd(width)}  ${String(found).padStart(20)}  ${verdict}${shown.join('')}`;
  });
  return lines.join('\n');
}

function row(name: string, wrong: readonly string[], more = 0): Row {
  return { name, found: wrong.length + more, wanted: 0, examples: wrong };
}

function budgetRows({ keyId, type, spent, held }: BudgetSide, entries: readonly RequestRecord[]): Row[] {
  let sum = 0n;
  for (const entry of entries) {
    if (entry.apiKeyId !== keyId) continue;
    for (const { usage, cost } of entry.attempts)
      sum += type === 'cost' ? BigInt(cost ?? 0) : BigInt(usage?.totalTokens ?? 0);
  }
  return [
    { name: `budget of ${type}: spent, against the sum of its entries`, found: spent, wanted: sum },
    { name: `budget of ${type}: held`, found: held, wanted: 0n },
  ];
}

function isTrue({ usage, usageEstimated, outcome }: AttemptRecord, seen: SeenAttempt): boolean {
  if (seen.status !== 200) return outcome === 'error' && usage === undefined;
  return (
    usageEstimated === undefined &&
    usage?.promptTokens === seen.promptTokens &&
    usage.completionTokens === seen.completionTokens
  );
}

function isMarked({ outcome, usage, usageEstimated }: AttemptRecord): boolean {
  return (
    (outcome === 'interrupted' || outcome === 'cancelled') && usage !== undefined && usageEstimated === true
  );
}

function repeatedOf(ids: readonly string[]): string[] {
  const known = new Set<string>();
  return ids.filter((id) => known.size === known.add(id).size);
}
