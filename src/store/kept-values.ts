// Bytes that are kept under a key until their time is over, as a port: responses that callers go on from. What they
// hold is sealed by who keeps them.

/** Of one value, in bytes: a row of one write. */
export const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/** A value with its key and when its time is over, in Unix milliseconds. */
export interface KeptRow {
  readonly key: string;
  readonly expiresAt: number;
  readonly value: Uint8Array;
}

/** Rows of one page of a scan: at most 32 MiB. */
export const KEPT_PAGE = 4;
/** Rows of one page of a list. */
export const LIST_PAGE = 500;

export interface KeptValues {
  /**
   * Keeps the value in the place of one that is there. Resolves when a kill of the process would not lose it.
   * @param expiresAt Unix milliseconds @throws GatewayError store_unavailable
   */
  put(key: string, value: Uint8Array, expiresAt: number): Promise<void>;
  /** Undefined: there is none, or its time is over. @param now Unix milliseconds @throws GatewayError store_unavailable */
  get(key: string, now: number): Promise<Uint8Array | undefined>;
  /**
   * Compare-and-set: keeps the value only where `before` is what is kept, byte for byte, and says whether it was. Resolves
   * as `put` does. @throws GatewayError store_unavailable: the write may then have been made or not
   */
  replace(key: string, before: Uint8Array, value: Uint8Array, expiresAt: number): Promise<boolean>;
  /** Whether there was one. @throws GatewayError store_unavailable */
  remove(key: string): Promise<boolean>;
  /** Deletes values whose time is over, 1,000 at the most, and says how many. @throws GatewayError store_unavailable */
  sweep(now: number): Promise<number>;
  /** The next rows by key, KEPT_PAGE at the most; none is the end. @throws GatewayError store_unavailable */
  scan(after: string): Promise<readonly KeptRow[]>;
  /**
   * The next rows whose keys begin so, by key, LIST_PAGE at the most; none is the end. For small values.
   * @param after the last key of the page before; the prefix itself for the first page @throws GatewayError store_unavailable
   */
  list(prefix: string, after: string): Promise<readonly KeptRow[]>;
}
