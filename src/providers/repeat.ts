// How events are known that repeat the one before them with another text.
import type { FoundEvents, Pattern } from '../lib/found-events.ts';
import type { Run } from '../lib/runs.ts';

/** What becomes of events that repeat an event with another text. */
export interface Repeat<Chunk> {
  readonly pattern: Pattern;
  /** Takes note of the texts. @returns the events in their place */
  run(found: FoundEvents): Run<Chunk>;
}
