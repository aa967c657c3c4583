// The cache: bytes with an age, within a bound of bytes per organisation; what was used longest ago goes first.
import { invalidField } from '../../lib/errors.ts';
import { BOUNDS, checkId, checkSpan, checkWhole } from './bounds.ts';

export interface CacheRead {
  readonly key: string;
  /** Older entries count as missing. */
  readonly maxAgeMs?: number;
}

export interface CacheHit {
  /** Not to be changed. */
  readonly value: Uint8Array;
  readonly ageMs: number;
}

export interface CacheWrite {
  readonly key: string;
  readonly value: Uint8Array;
  readonly ttlMs: number;
  /** Of all values and keys of the organisation; a larger one is not kept. */
  readonly maxBytes: number;
}

export interface CacheWritten {
  readonly kept: boolean;
  /** After the step. */
  readonly bytes: number;
  readonly evicted: number;
}

export interface CacheRemoval {
  readonly key: string;
}

/** What an entry counts for: its bytes and its key's. */
export function cachedSize(key: string, value: Uint8Array): number {
  return value.byteLength + Buffer.byteLength(key);
}

export function checkCacheRead(request: CacheRead): void {
  checkId('key', request.key);
  if (request.maxAgeMs !== undefined) checkWhole('maxAgeMs', request.maxAgeMs, 0, BOUNDS.spanMs);
}

export function checkCacheWrite(request: CacheWrite): void {
  checkId('key', request.key);
  checkSpan('ttlMs', request.ttlMs);
  checkWhole('maxBytes', request.maxBytes, 0, Number.MAX_SAFE_INTEGER);
  if (!(request.value instanceof Uint8Array)) throw invalidField('value', 'must be bytes', 'type');
  if (request.value.byteLength > BOUNDS.cached) throw invalidField('value', 'is too large', 'max_bytes');
}
