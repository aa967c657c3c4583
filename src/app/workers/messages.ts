// What the first process and those that serve tell each other.

import type { FirstKeys } from '../../access/bootstrap.ts';
import type { FamilyValues } from '../../telemetry/metrics-page.ts';

/** From a process that serves. */
export type FromWorker =
  | { readonly kind: 'ready'; readonly url: string; readonly firstKeys: FirstKeys }
  /** It was asked for its metrics, and asks for everybody's. */
  | { readonly kind: 'all-metrics'; readonly id: number }
  /** Its own, as asked. */
  | { readonly kind: 'metrics'; readonly id: number; readonly families: readonly FamilyValues[] };

/** To a process that serves. */
export type ToWorker =
  | { readonly kind: 'stop' }
  | { readonly kind: 'metrics?'; readonly id: number }
  | {
      readonly kind: 'all-metrics';
      readonly id: number;
      readonly processes: readonly (readonly FamilyValues[])[];
    };
