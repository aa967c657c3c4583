// Where answers are kept: the port. Two adapters, this process's memory and Redis, and one contract suite.

/** A kept answer's bytes. */
export interface KeptBytes {
  /** Not to be changed. */
  readonly value: Uint8Array;
  readonly ageMs: number;
}

/** Answers as bytes, by organisation and key, within a bound of bytes; what was used longest ago goes first. */
export interface AnswerStore {
  /**
   * Undefined when there is none of that age.
   * @throws GatewayError store_unavailable, within READ_MS, when the store does not answer.
   */
  read(
    organisationId: string,
    key: string,
    maxAgeMs: number,
  ): KeptBytes | undefined | Promise<KeptBytes | undefined>;
  /** Keeps it if it can; never throws. Resolves when it is kept or given up. */
  write(organisationId: string, key: string, value: Uint8Array, ttlMs: number): void | Promise<void>;
  /** Never throws. */
  remove(organisationId: string, key: string): void | Promise<void>;
  /** One caller at a time over all instances; absent where there is one instance. */
  readonly turns?: Turns;
}

/** Who may make an answer: leases with an expiry, so that a dead instance blocks no other. */
export interface Turns {
  /** True when the owner has it now. @throws GatewayError store_unavailable. */
  take(organisationId: string, key: string, owner: string): Promise<boolean>;
  /** Prolongs it; never throws. */
  keep(organisationId: string, key: string, owner: string): Promise<void>;
  /** Gives it back; never throws. */
  give(organisationId: string, key: string, owner: string): Promise<void>;
}

/** How long a lease lasts without renewal, in milliseconds. */
export const TURN_MS = 10_000;
