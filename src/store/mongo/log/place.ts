// Where the log is kept, and how its calls are made.
import type mongoose from 'mongoose';
import type { Calls } from '../calls.ts';
import type { BodyMatcher } from './body-matcher.ts';
import type { Buckets } from './buckets.ts';

export interface LogPlace {
  readonly connection: mongoose.Connection;
  readonly database: mongoose.mongo.Db;
  readonly buckets: Buckets;
  readonly calls: Calls;
  /** Compares bodies with the text of a search. */
  readonly matcher: BodyMatcher;
  /** The time of one command, in milliseconds: longer ones are cut off. */
  readonly commandMs: number;
  /**
   * Milliseconds after its hour from which an entry counts as late, and for how long an append may be under way
   * unseen: an hour's roll-ups are made when both are over. Clocks may differ by less than the latter.
   */
  readonly lateMs: number;
  readonly settleMs: number;
  /** Entries looked at with one command where no index answers. */
  readonly piece: number;
}
