// A response within a live session, which is a call of its own: limited, booked and logged like any other.
import type { Message } from '@bufbuild/protobuf';

/** What runs in the place of a session. */
export interface CallTurn {
  /** The model that answers; empty: not known. */
  readonly model: string;
  /** Called when the turn is admitted; its messages end with it. */
  run(): Promise<AsyncIterable<Message>>;
}
