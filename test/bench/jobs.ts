// What the load generators are told, and what they say.

/** One request, and what a right answer to it is. */
export interface Shot {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The answer is a stream of as many events and `[DONE]`. */
  readonly events?: number;
  /** What the stream ends with where its events have names; then `[DONE]` is none of them. */
  readonly ending?: string;
  /** The answer has as many bytes. */
  readonly bytes?: number;
}

/** Each connection sends its next request when it has its answer. */
export interface ClosedJob {
  readonly kind: 'closed';
  readonly shot: Shot;
  readonly connections: number;
  /** One of the two. */
  readonly seconds?: number;
  readonly count?: number;
}

export interface FirstEventJob {
  readonly kind: 'first-event';
  readonly shots: readonly Shot[];
  /** Streams per target. */
  readonly count: number;
}

export interface IdleJob {
  readonly kind: 'idle';
  readonly shot: Shot;
  readonly streams: number;
}

/** Requests at a rate, whether earlier ones were answered or not, until the next line comes in. */
export interface PacedJob {
  readonly kind: 'paced';
  readonly shot: Shot;
  readonly perSecond: number;
}

/** Of a paced job: milliseconds from when each was due to the end of its answer, in the order in which they were due. */
export interface PacedResult {
  readonly times: readonly number[];
  readonly wrong: number;
  /** When the first was due, in milliseconds of the Unix epoch; the others follow at the rate. */
  readonly begun: number;
}

export type Job = ClosedJob | FirstEventJob | IdleJob | PacedJob;

/** What a closed loop counted. */
export interface LoadResult {
  /** Right answers. */
  readonly answers: number;
  /** Other answers, and exchanges that failed. */
  readonly wrong: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly p50Ms: number;
  /** Requests that may have been under way when the time was up: sent, perhaps answered, not counted. */
  readonly cut: number;
}
