// How events are known that repeat the one before them with another text.
import type { Run } from '../lib/runs.ts';

/** Where the text of an event stands in its data. */
export interface Pattern {
  /** The data up to the text. */
  readonly before: string;
  /** The data after the text; where a second text follows that says nothing (a filling), up to that. */
  readonly after: string;
  /** Undefined: there is no second text. */
  readonly end: string | undefined;
}

/** What becomes of events that repeat an event with another text. */
export interface Repeat<Chunk> {
  readonly pattern: Pattern;
  /**
   * Takes note of the texts. @param source the events' lines @param fillings the second texts, of a pattern that has one
   * @returns the events in their place
   */
  run(texts: readonly string[], source: string, fillings: readonly string[]): Run<Chunk>;
}
