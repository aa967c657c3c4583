// What the stages of a model call are built of.
import type { Checks } from '../../checks/create.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import type { ModelCatalogue } from '../../providers/catalog/models.ts';
import type { Dialect } from '../../providers/dialect.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import type { Planner } from '../plan/select.ts';
import type { CircuitStore } from '../route/circuits.ts';
import type { Loads } from '../route/loads.ts';
import type { StickyStore } from '../route/sticky.ts';

/** What the pipeline is built of. */
export interface Pipeline {
  readonly dialer: Dialer;
  readonly dialects: ReadonlyMap<string, Dialect>;
  /** What is known of providers' models. */
  readonly models: ModelCatalogue;
  readonly planner: Planner;
  readonly routes: RouteFacts;
  readonly cache: ResponseCache;
  readonly checks: Pick<Checks, 'runner' | 'deps'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** What routes remember from call to call. */
export interface RouteFacts {
  readonly loads: Loads;
  readonly circuits: CircuitStore;
  readonly sticky: StickyStore;
  /** Tries a user's pattern on a text within bounds of time; false when they did not suffice. */
  readonly matches: (tenant: string, pattern: RegExp, text: string) => Promise<boolean>;
}
