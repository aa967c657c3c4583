// What crosses between the main thread and the log's workers.
import type { LogFilter } from '../../request-log.ts';
import type { LogSumsCall } from './aggregate-reads.ts';
import type { LogPageCall } from './page-reads.ts';
import type { LogScope } from './selection.ts';

/** Given to the log's workers when they start. */
export interface LogSetup {
  /** The main file. */
  readonly path: string;
  /** Where the buckets' files are. */
  readonly folder: string;
  /** Entries of a block: the tail is sealed from its begin in blocks of so many, and whole rows. */
  readonly block: number;
  /** How long a search in texts may take before it answers what it has, in milliseconds. */
  readonly searchMs: number;
}

export type LogReaderCall =
  | LogPageCall
  | LogSumsCall
  | (LogScope & { readonly kind: 'get'; readonly filter: LogFilter })
  | {
      readonly kind: 'scan';
      readonly after: number;
      readonly limit: number;
      readonly characters: number;
    }
  | { readonly kind: 'close' };

export type LogKeeperCall =
  /** Makes segments of the tail's first block; `all`: also when it is not full. Answers a change or null. */
  { readonly kind: 'seal'; readonly all: boolean } | { readonly kind: 'close' };
