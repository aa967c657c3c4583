// Batches that the gateway runs, as they are stored.
import type { KeptCaller } from '../../call/kept-caller.ts';
import { type Collection, defineCollection, type JsonObject } from '../../store/collection.ts';
import { providerBatches } from './provider-collection.ts';

export type BatchStatus =
  | 'validating'
  | 'in_progress'
  | 'finalizing'
  | 'completed'
  | 'failed'
  | 'expired'
  | 'cancelling'
  | 'cancelled';

/** What is wrong with a batch or with one of its rows. */
export interface BatchFault {
  readonly code: string;
  readonly message: string;
  readonly param?: string;
  /** From 1. */
  readonly line?: number;
}

/** A batch. Times are Unix milliseconds. */
export interface BatchBody {
  readonly endpoint: string;
  readonly inputFileId: string;
  readonly window: string;
  readonly metadata?: JsonObject;
  readonly status: BatchStatus;
  readonly counts: { readonly total: number; readonly completed: number; readonly failed: number };
  readonly faults: readonly BatchFault[];
  readonly outputFileId?: string;
  readonly errorFileId?: string;
  readonly outputExpiresMs?: number;
  /** Its rows are this caller's calls. */
  readonly caller: KeptCaller;
  readonly lease?: { readonly owner: string; readonly until: number };
  readonly expiresAt: number;
  readonly inProgressAt?: number;
  readonly finalizingAt?: number;
  readonly endedAt?: number;
  readonly cancellingAt?: number;
}

export const batches: Collection<BatchBody> = defineCollection<BatchBody>({
  name: 'batches',
  schemaVersion: 1,
  noticed: true,
  fields: [{ name: 'status', type: 'text' }],
  secret: ['caller'],
});

/** All collections of this room. */
export const batchCollections: readonly Collection<object>[] = [batches, providerBatches];

/** How ids of the gateway's own batches begin. */
export const OWN_BATCH = 'batch_gw_';

/** Whether a batch has work left. */
export function isOpen({ status }: BatchBody): boolean {
  return (
    status === 'validating' || status === 'in_progress' || status === 'finalizing' || status === 'cancelling'
  );
}
