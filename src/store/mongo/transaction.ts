// A unit of work as a transaction: majority-committed, repeated while it loses races, within its call's deadline.
import type mongoose from 'mongoose';
import type { Deadline } from './calls.ts';
import { isCommitUnknown, isTransient } from './failures.ts';

/** Acknowledged when it would survive the loss of the primary, and of every member's power. */
export const MAJORITY = { w: 'majority', journal: true } as const;

type Session = mongoose.mongo.ClientSession;

/** Runs `work` and commits. It may run several times: it has no effect but through the session. */
export async function inTransaction<T>(
  connection: mongoose.Connection,
  deadline: Deadline,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await connection.startSession();
  try {
    for (let attempt = 0; ; attempt++) {
      session.startTransaction({
        readConcern: { level: 'snapshot' },
        writeConcern: MAJORITY,
        maxCommitTimeMS: deadline.remaining(),
      });
      try {
        const result = await work(session);
        await commit(session, deadline);
        return result;
      } catch (error) {
        if (session.inTransaction()) await session.abortTransaction();
        if (!isTransient(error) || !(await deadline.backOff(attempt))) throw error;
      }
    }
  } finally {
    await session.endSession();
  }
}

/** Commits, and asks again while the answer is lost: a commit that is repeated is made once. */
async function commit(session: Session, deadline: Deadline): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      if (!isCommitUnknown(error) || !(await deadline.backOff(attempt))) throw error;
    }
  }
}
