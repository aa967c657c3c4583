// What a segment says of itself. A segment holds entries of one time bucket as columns, in order of time and then of
// arrival, and their texts in compressed chunks; it is written once and never changed.
import type { Place } from './blobs.ts';
import type { NumberHead } from './number-column.ts';
import type { TextHead } from './text-column.ts';

/** Columns of texts, metadata apart. */
export const TEXT_COLUMNS = [
  ...(['organisation', 'workspace', 'apiKey', 'userId', 'provider', 'model', 'responseModel'] as const),
  ...(['virtualKey', 'config', 'prompt', 'statusCode', 'cacheStatus', 'retries', 'rescued'] as const),
  ...(['outcome', 'path', 'error', 'errorReason', 'id', 'traceId', 'spanId'] as const),
];
export type TextName = (typeof TEXT_COLUMNS)[number];

/**
 * Columns of numbers: `time` in Unix milliseconds, `seq` is the place in the order of arrival, `latencyMs` is there when
 * it is not `latencyUs` / 1000, `firstTokenBucket` is 0 without a first token and else one above `latencyBucket`, money is in 1e-12 USD where a number holds it exactly.
 */
export const NUMBER_COLUMNS = [
  ...(['time', 'seq', 'latencyUs', 'latencyMs', 'latencyBucket', 'promptTokens'] as const),
  ...(['completionTokens', 'totalTokens', 'cost', 'saved', 'firstTokenUs', 'firstTokenBucket'] as const),
];

/** Columns that roll-ups have in addition to those, named after what they hold. */
export const SUM_COLUMNS = [
  ...(['requests', 'successes', 'errors', 'cacheHits', 'semanticHits', 'cacheLatencyUs'] as const),
  ...(['semanticSaved', 'retried', 'rescued', 'firstSeen', 'lastSeen', 'firstTokens'] as const),
  ...(['firstTokenUnknown'] as const),
];
export type NumberName = (typeof NUMBER_COLUMNS)[number] | (typeof SUM_COLUMNS)[number];

/** Rows of a chunk of texts. */
export const CHUNK = 64;

/** Money that the column has as 0: below 0 or above 2^52, or no whole number of it. */
export type LargeMoney = readonly (readonly [row: number, amount: string])[];

export interface SegmentHead {
  readonly count: number;
  readonly texts: Readonly<Partial<Record<TextName, TextHead>>>;
  /** By the key. */
  readonly metadata: readonly (readonly [key: string, column: TextHead])[];
  /** Pairs of keys that have no column, as JSON: row, key, value. */
  readonly pairs?: Place;
  readonly numbers: Readonly<Partial<Record<NumberName, NumberHead>>>;
  readonly largeCost?: LargeMoney;
  readonly largeSaved?: LargeMoney;
  readonly largeSemanticSaved?: LargeMoney;
  /** The entries' texts: each chunk's place, lines compressed by zstd. */
  readonly chunks?: readonly Place[];
  /** Of each part in turn: its first byte, its length and its CRC-32. Segments of earlier versions have none. */
  readonly checksums?: readonly number[];
  /** For roll-ups: where each row's histogram begins (and the last one ends), then pairs of bucket and count. */
  readonly histograms?: Place;
  /** The same of times to first token. Roll-ups of earlier versions have none. */
  readonly firstTokenTimes?: Place;
}
