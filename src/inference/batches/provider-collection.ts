// What is known of batches that providers run: the model of their input, who made them, and how far their output is booked.
// Notes about files at providers; their contents are not stored here.
import { type Collection, defineCollection, type JsonObject } from '../../store/collection.ts';

/** Who made a batch or a job: it is in that caller's books. */
export interface BatchMaker {
  readonly workspaceId?: string;
  readonly keyId: string;
  readonly userId?: string;
  /** Of a token, whose key cannot be looked up: JSON of the principal. */
  readonly token?: JsonObject;
  readonly metadata: Readonly<Record<string, string>>;
}

/** How far the rows of an output are in the books. */
export interface Settling {
  /** When it began: all entries of its rows have this time. Unix milliseconds. */
  readonly at: number;
  /** All rows up to this line are booked. */
  readonly line: number;
  readonly done: boolean;
}

/** A note: of an input file, of a batch, of a file that a batch has written, of a fine-tuning job, or of a response in the background. */
export interface ProviderBatchBody {
  readonly kind: 'input' | 'batch' | 'output' | 'job' | 'response';
  /** Of the input's first row: providers take one model a file. Of a job: the model that is trained. Of a response: the one that was asked for. */
  readonly model?: string;
  readonly endpoint?: string;
  readonly maker?: BatchMaker;
  /** The batch's id at the provider. */
  readonly batchId?: string;
  readonly settling?: Settling;
}

export const providerBatches: Collection<ProviderBatchBody> = defineCollection<ProviderBatchBody>({
  name: 'provider_batches',
  schemaVersion: 1,
  fields: [{ name: 'kind', type: 'text' }],
});
