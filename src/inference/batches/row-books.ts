// Where rows of a provider's own batch are booked: what the app puts in.
import type { Call } from '../../call/call.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { OutputRow } from './output-rows.ts';
import type { BatchMaker } from './provider-collection.ts';

/** Rows of one output, and whose they are. */
export interface RowsToBook {
  /** The call that fetches them. */
  readonly call: Call;
  readonly bound: BoundTarget;
  /** Of the output: rows of the same one have the same entries, whichever process books them. */
  readonly id: string;
  /** The time of all entries, in Unix milliseconds. */
  readonly at: number;
  /** Undefined: not known; they are the fetching caller's. */
  readonly maker: BatchMaker | undefined;
  readonly batchId: string | undefined;
  /** Of a fine-tuning job, which is one row and has no batch prices. */
  readonly jobId?: string;
  /** Of a response in the background: it has the prices of a single call, of the tier that it was served by. */
  readonly plain?: { readonly tier: string | undefined };
  readonly endpoint: string | undefined;
  /** That the rows asked for; undefined: not known, what the answers name counts. */
  readonly model: string | undefined;
  readonly rows: readonly OutputRow[];
  /** A process that has ended, or another one, may have booked some of them. */
  readonly again: boolean;
}

/** Makes an entry of each row, once, with its charges. */
export interface RowBooks {
  /** Resolves when a kill would not lose them. @throws GatewayError store_unavailable */
  book(rows: RowsToBook): Promise<void>;
}
