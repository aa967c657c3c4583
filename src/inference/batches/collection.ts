// Batches that the gateway runs, as they are stored.
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

/** Who made it, and with which headers: its rows are that caller's calls. */
export interface BatchCaller {
  readonly keyId: string;
  /** Of a token, whose key cannot be looked up; JSON of the principal. */
  readonly token?: JsonObject;
  readonly providerCredential?: string;
  readonly headers: Readonly<Record<string, string>>;
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
  readonly caller: BatchCaller;
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
