// The embedded store's time, taken once per call by the adapter.

export interface Moment {
  /** Microseconds. */
  readonly us: number;
  /** Milliseconds, whole. */
  readonly ms: number;
  /** When ids that are settled or appended now are forgotten. */
  readonly forgetAt: number;
}

export function momentOf(clockMs: number, rememberMs: number): Moment {
  const us = Math.round(clockMs * 1000);
  const ms = Math.floor(us / 1000);
  return { us, ms, forgetAt: ms + rememberMs };
}
