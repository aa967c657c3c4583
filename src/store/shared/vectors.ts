// Vectors of cached answers: the nearest of a scope by cosine, within a bound of bytes per organisation; what was
// added longest ago goes first. A store that cannot compare vectors says so, and keeps none.
import { invalidField } from '../../lib/errors.ts';
import { checkId, checkSpan, checkWhole } from './bounds.ts';

export interface VectorAdd {
  /** Only vectors of one scope are compared: letters, digits, hyphens and underscores. */
  readonly scope: string;
  /** One of the same id is replaced. */
  readonly id: string;
  /** Of any length in space; only its direction counts. */
  readonly vector: Float32Array;
  readonly ttlMs: number;
  /** Of all vectors and names of the organisation; one that is larger by itself is not kept. */
  readonly maxBytes: number;
}

export interface VectorAdded {
  readonly supported: boolean;
  /** False also for a vector of other dimensions than those of its scope. */
  readonly kept: boolean;
}

export interface VectorNear {
  readonly scope: string;
  readonly vector: Float32Array;
  readonly most: number;
}

export interface NearVectors {
  readonly supported: boolean;
  /** Best first. */
  readonly found: readonly NearVector[];
}

export interface NearVector {
  readonly id: string;
  /** Cosine, -1 to 1. */
  readonly similarity: number;
}

export interface VectorRemoval {
  readonly scope: string;
  readonly id: string;
}

/** Longest vector, in dimensions. */
export const MAX_DIMENSIONS = 8192;
/** Bytes that a vector takes in addition to its numbers and its names. */
const VECTOR_BYTES = 512;
const SCOPE = /^[A-Za-z0-9_-]{1,128}$/;
const MOST_NEAR = 100;

/** The bytes that a vector counts for in the bound of its organisation. */
export function vectorSize({ scope, id, vector }: Pick<VectorAdd, 'scope' | 'id' | 'vector'>): number {
  return vector.byteLength + Buffer.byteLength(scope) + Buffer.byteLength(id) + VECTOR_BYTES;
}

/** The vector at length one; undefined for one that has no direction or is no vector. */
export function unitVector(vector: Float32Array): Float32Array | undefined {
  if (vector.length === 0 || vector.length > MAX_DIMENSIONS) return undefined;
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  if (!Number.isFinite(length) || length === 0) return undefined;
  return vector.map((value) => value / length);
}

export function checkVectorAdd(request: VectorAdd): void {
  checkVectorRemoval(request);
  checkVector(request.vector);
  checkSpan('ttlMs', request.ttlMs);
  checkWhole('maxBytes', request.maxBytes, 0, Number.MAX_SAFE_INTEGER);
}

export function checkVectorNear({ scope, vector, most }: VectorNear): void {
  checkScope(scope);
  checkVector(vector);
  checkWhole('most', most, 1, MOST_NEAR);
}

export function checkVectorRemoval({ scope, id }: VectorRemoval): void {
  checkScope(scope);
  checkId('id', id);
}

function checkScope(scope: string): void {
  if (!SCOPE.test(checkId('scope', scope)))
    throw invalidField('scope', 'must be letters, digits, - and _', 'pattern');
}

function checkVector(vector: Float32Array): void {
  if (!(vector instanceof Float32Array)) throw invalidField('vector', 'must be 32-bit numbers', 'type');
  if (unitVector(vector) === undefined)
    throw invalidField('vector', `must have a direction and at most ${MAX_DIMENSIONS} dimensions`, 'value');
}
