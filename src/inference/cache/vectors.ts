// Where the vectors of semantic mode are kept: the port. Adapters: this process's memory and Redis's vector sets.
import type { NearVector } from '../../store/shared-state.ts';

/** Vectors by organisation and scope. Bounded by bytes; what was added longest ago goes first. */
export interface VectorStore {
  /** The nearest ones, best first. Never throws: a store that does not answer has none. */
  near(
    organisationId: string,
    scope: string,
    vector: Float32Array,
    most: number,
  ): readonly NearVector[] | Promise<readonly NearVector[]>;
  /** Keeps it if it can; replaces one of the same id; never throws. */
  add(organisationId: string, scope: string, vector: KeptVector): void | Promise<void>;
  /** Never throws. */
  remove(organisationId: string, scope: string, id: string): void | Promise<void>;
}

export interface KeptVector {
  /** The key of the answer that belongs to it. */
  readonly id: string;
  readonly vector: Float32Array;
  readonly ttlMs: number;
}
