// Roll-ups as they cross between threads: typed arrays, and each text once.
import { type Accumulator, AT, MONEY, STRIDE } from './accumulator.ts';
import type { AggregatePlan } from './aggregate-plan.ts';
import type { PackedFirstTokens } from './first-token-totals.ts';
import type { PackedHistograms } from './histograms.ts';

export interface RollupRows {
  readonly buckets: Float64Array;
  /** The groups that there are, and which of them each row is of. */
  readonly groups: readonly (readonly string[])[];
  readonly groupOf: Uint32Array;
  /** Row by row, each `STRIDE` numbers. */
  readonly totals: Float64Array;
  /** Money that exceeds what numbers hold exactly, by its position in `totals`; added to the value there. */
  readonly large: ReadonlyMap<number, bigint>;
  /** Null: not requested. */
  readonly latencies: PackedHistograms | null;
  readonly firstTokens: PackedFirstTokens | null;
  readonly unique: Int32Array | null;
  readonly allGroups: number;
  readonly allUnique: number;
  readonly source: AggregatePlan['source'];
}

/** What of a list of groups rows need. */
interface Groups {
  bucketOf(group: number): number;
  pairOf(group: number): number;
  textsOf(pair: number): string[];
}

/** The rows of the groups of a page. */
export function sumRows(
  page: readonly number[],
  groups: Groups,
  accumulator: Accumulator,
  unique: Int32Array | undefined,
  all: { readonly groups: number; readonly unique: number },
  source: AggregatePlan['source'],
): RollupRows {
  const pairs = new Map<number, number>();
  const texts: string[][] = [];
  const groupOf = new Uint32Array(page.length);
  for (const [row, group] of page.entries()) {
    const pair = groups.pairOf(group);
    let number = pairs.get(pair);
    if (number === undefined) {
      number = texts.push(groups.textsOf(pair)) - 1;
      pairs.set(pair, number);
    }
    groupOf[row] = number;
  }
  return {
    groups: texts,
    groupOf,
    ...totalsOf(page, accumulator),
    buckets: Float64Array.from(page, (group) => groups.bucketOf(group)),
    latencies: accumulator.latencies?.of(page) ?? null,
    firstTokens: accumulator.firstTokens?.of(page) ?? null,
    unique: unique ? Int32Array.from(page, (group) => unique[group] as number) : null,
    allGroups: all.groups,
    allUnique: all.unique,
    source,
  };
}

function totalsOf(page: readonly number[], accumulator: Accumulator): Pick<RollupRows, 'totals' | 'large'> {
  const totals = new Float64Array(page.length * STRIDE);
  const large = new Map<number, bigint>();
  for (let place = 0; place < STRIDE; place++) {
    for (let row = 0; row < page.length; row++) {
      totals[row * STRIDE + place] = accumulator.sum(page[row] as number, place);
    }
  }
  for (const name of MONEY) {
    for (const [row, group] of page.entries()) {
      const amount = accumulator.largeOf(group, AT[name]);
      if (amount !== undefined) large.set(row * STRIDE + AT[name], amount);
    }
  }
  return { totals, large };
}
