// What crosses between the main thread and the log's workers.
import type { FeedbackGrouping, LogRetention, Repriced } from '../../log-store.ts';
import type { LogFilter } from '../../request-log.ts';
import type { LogRollupsCall } from './aggregate-reads.ts';
import type { BodyKey } from './body-files.ts';
import type { LogSearchCall } from './body-search.ts';
import type { Bucket } from './buckets.ts';
import type { LogFacetsCall } from './facet-counts.ts';
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
  /** Entries that are not sealed: a reader takes so many more into memory, and of further ones waits for their segments. */
  readonly unsealed: number;
  /** How long a search in texts may take before it answers what it has, in milliseconds. */
  readonly searchMs: number;
  /** Groups that are added up in one go. */
  readonly groups: number;
}

export type LogReaderCall =
  | LogPageCall
  /** Answers a slice, or null: there are no bodies of the filter's time. */
  | LogSearchCall
  | LogRollupsCall
  /** Answers `FacetRows`. */
  | LogFacetsCall
  | (LogScope & { readonly kind: 'get'; readonly filter: LogFilter })
  | {
      readonly kind: 'scan';
      readonly after: number;
      readonly limit: number;
      readonly characters: number;
    }
  | (LogScope & {
      readonly kind: 'feedback';
      readonly filter: LogFilter;
      readonly by: FeedbackGrouping;
    })
  | { readonly kind: 'body'; readonly org: string; readonly id: string; readonly time: number }
  | { readonly kind: 'scanBodies'; readonly after: readonly [file: string, frame: number] | null }
  | { readonly kind: 'close' };

export type LogCompactorCall =
  /** Makes segments of the tail's first block; `all`: also when it is not full. Answers a change or null. */
  | { readonly kind: 'seal'; readonly all: boolean }
  /** Makes segments of the next block of an earlier version's log. Answers a change or null. */
  | { readonly kind: 'takeOver' }
  /** Answers `RepricedSegments`. */
  | { readonly kind: 'reprice'; readonly org: string; readonly corrections: readonly Repriced[] }
  /** Answers `Due`. */
  | { readonly kind: 'due'; readonly retention: LogRetention; readonly now: number }
  /** Answers buckets. */
  | { readonly kind: 'unsummed'; readonly now: number }
  /** Answers a change. */
  | { readonly kind: 'sum'; readonly bucket: Bucket }
  /** These answer `Dropping`. */
  | { readonly kind: 'retire'; readonly bucket: Bucket; readonly withSums: boolean }
  | { readonly kind: 'forget'; readonly bucket: Bucket }
  /** Answers `Unsummed`. */
  | { readonly kind: 'unsum'; readonly day: number }
  /** Deletes a bucket's file when it has no listed segment. */
  | { readonly kind: 'drop'; readonly file: string }
  | { readonly kind: 'bodies'; readonly keys: readonly BodyKey[]; readonly lines: readonly string[] }
  | { readonly kind: 'expireBodies'; readonly days: number; readonly now: number }
  | { readonly kind: 'close' };
