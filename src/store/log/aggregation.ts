// The request log's aggregations: what they ask for and what they return, for every adapter.

/** By what entries are grouped. `user` is metadata `_user`, `userId` the person that the key belongs to. */
export type LogDimension =
  | 'workspace'
  | 'apiKey'
  | 'userId'
  | 'user'
  | 'provider'
  | 'model'
  | 'virtualKey'
  | 'config'
  | 'prompt'
  | 'statusCode'
  | 'cacheStatus'
  | 'retries'
  | 'errorReason'
  | { readonly metadata: string };

/** What groups can be put in order by. */
export type LogMeasure = 'requests' | 'cost' | 'totalTokens' | 'errors' | 'lastSeen' | 'firstSeen' | 'group';

/** What is summed. */
export interface LogAggregation {
  /** Length of a bucket in milliseconds, a divisor or multiple of an hour; buckets begin at multiples of it. Absent: one. */
  readonly bucketMs?: number;
  /**
   * At most two. Entries without a value are in the group '', except of a metadata key, of `user` and of `errorReason`,
   * whose entries without a value are in no group.
   */
  readonly by?: readonly LogDimension[];
  /** Counts the distinct values of this dimension, in each row and over all; '' is none. */
  readonly unique?: LogDimension;
  /** False: histograms of latencies are not requested, and a store may leave them empty. */
  readonly latencies?: false;
  /** True: times to first token are requested, and rows have `firstTokens`. */
  readonly firstTokens?: true;
  /** Of groups, without `bucketMs`; most requests first when absent. Equal ones by group, rising. */
  readonly order?: { readonly measure: LogMeasure; readonly direction: 'asc' | 'desc' };
  /** Of groups, without `bucketMs`. */
  readonly skip?: number;
  readonly take?: number;
}

/** How many entries have a latency in each bucket: a map will do. */
export interface Histogram {
  forEach(each: (count: number, bucket: number) => void): void;
}

/** Times to first token of entries that have one. */
export interface FirstTokens {
  /** Entries that have one. */
  calls: number;
  /** Their sum, in microseconds. */
  us: number;
  /** How many have one in each bucket of `latencyBucket`, by its number. */
  readonly times: Map<number, number>;
  /** Entries of which the store does not know whether they have one: a version without the column has stored them. */
  unknown: number;
}

/** A roll-up of entries. Money is exact: whole numbers of 1e-12 USD. */
export interface LogRollups {
  requests: number;
  /** Statuses 200 to 299. */
  successes: number;
  /** Statuses from 400. */
  errors: number;
  cost: bigint;
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  /** Microseconds. */
  latencyUs: number;
  /** How many entries have a latency in each bucket of `latencyBucket`, by its number. */
  readonly latencies: Map<number, number>;
  /** The same pairs for callers that only iterate, without making a map. */
  readonly histogram?: Histogram;
  /** Absent: not requested. */
  firstTokens?: FirstTokens;
  cacheHits: number;
  semanticHits: number;
  /** Of entries that were answered from the cache, in microseconds. */
  cacheLatencyUs: number;
  /** Savings by simple and by semantic hits. */
  saved: bigint;
  semanticSaved: bigint;
  /** Entries with retries, and entries that another target rescued. */
  retried: number;
  rescued: number;
  /** Unix milliseconds of the first and of the last entry. */
  firstSeen: number;
  lastSeen: number;
}

export interface LogAggregateRow {
  /** Unix milliseconds at which the bucket begins; 0 without `bucketMs`. */
  readonly bucket: number;
  /** A value for each of `by`. */
  readonly group: readonly string[];
  readonly rollup: LogRollups;
  /** Distinct values of `unique`. */
  readonly unique?: number;
}

/** Rows by bucket, then by group; buckets and groups without an entry have none. */
export interface LogAggregate {
  readonly rows: readonly LogAggregateRow[];
  /** All groups there are, beyond `skip` and `take` too. */
  readonly groups: number;
  /** Distinct values of `unique` over all buckets and groups. */
  readonly unique?: number;
  /** From roll-ups (and entries at the edges), or by reading entries alone. */
  readonly source: 'rollups' | 'entries';
}
