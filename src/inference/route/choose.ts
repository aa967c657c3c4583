// One of a load balance's targets.
import type { BalancePlan, Plan } from '../plan/plan.ts';
import type { Loads } from './loads.ts';

/** What choosing reads in addition to the plan. */
export interface ChoiceDeps {
  readonly loads: Loads;
  now(): number;
  random(): number;
}

/** An index of `from` by the plan's algorithm. @param from indices of targets, at least one */
export function choose(
  { targets, algorithm }: BalancePlan,
  from: readonly number[],
  deps: ChoiceDeps,
): number {
  if (from.length === 1) return from[0]!;
  if (algorithm === 'weighted') return byWeight(targets, from, deps.random());
  const now = deps.now();
  const score = (index: number): number =>
    algorithm === 'least_busy'
      ? deps.loads.busy(targets[index]!)
      : deps.loads.latencyMs(targets[index]!, now);
  const least = Math.min(...from.map(score));
  const best = from.filter((index) => score(index) === least);
  return best.length === 1 ? best[0]! : byWeight(targets, best, deps.random());
}

function byWeight(targets: readonly Plan[], from: readonly number[], random: number): number {
  let left = from.reduce((sum, index) => sum + targets[index]!.weight, 0) * random;
  for (const index of from) {
    left -= targets[index]!.weight;
    if (left < 0) return index;
  }
  return from.at(-1)!;
}
