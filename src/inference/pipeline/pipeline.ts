// What the stages of a model call are built of.
import type { Dialer } from '../../lib/egress/outbound.ts';
import type { Dialect } from '../../providers/dialect.ts';
import type { PlanFacts } from '../plan/plan.ts';

/** What the pipeline is built of. */
export interface Pipeline {
  readonly dialer: Dialer;
  readonly dialects: ReadonlyMap<string, Dialect>;
  readonly plans: PlanFacts;
  /** Unix milliseconds. */
  readonly now: () => number;
}
