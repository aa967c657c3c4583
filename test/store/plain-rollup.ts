// Roll-ups as tests compare them.
import type { LogRollups } from '../../src/store/log/aggregation.ts';

const inOrder = (counts: ReadonlyMap<number, number>): readonly (readonly [number, number])[] =>
  [...counts].sort(([a], [b]) => a - b);

/** With its histograms in order. */
export function plainRollup(rollup: LogRollups): object {
  const { firstTokens, ...rest } = rollup;
  return {
    ...rest,
    latencies: inOrder(rollup.latencies),
    ...(firstTokens === undefined
      ? {}
      : { firstTokens: { ...firstTokens, times: inOrder(firstTokens.times) } }),
  };
}
