// Heartbeats in MongoDB: a document for each process, with the server's time of its last one.
import mongoose from 'mongoose';
import {
  type Heartbeat,
  type Heartbeats,
  MOST_RECENT,
  RECENT_MS,
  type RecentProcess,
} from '../heartbeats.ts';
import type { Calls, Deadline } from './calls.ts';
import { isDuplicateKey } from './failures.ts';

interface Kept extends Omit<Heartbeat, 'id'> {
  readonly _id: string;
  readonly seenAt: Date;
}

export const HEARTBEATS = 'heartbeats';

export function mongoHeartbeats(connection: mongoose.Connection, calls: Calls): Heartbeats {
  const collection = () => connection.collection<Kept>(HEARTBEATS);

  /** The server's time, in Unix milliseconds. */
  async function taken({ id, ...heartbeat }: Heartbeat, deadline: Deadline): Promise<number> {
    const write = () =>
      collection().findOneAndUpdate(
        { _id: id },
        { $set: heartbeat, $currentDate: { seenAt: true } },
        {
          upsert: true,
          returnDocument: mongoose.mongo.ReturnDocument.AFTER,
          maxTimeMS: deadline.remaining(),
        },
      );
    const kept = await write().catch((error: unknown) => {
      // A beat and a list of one process may make its document at the same time.
      if (isDuplicateKey(error)) return write();
      throw error;
    });
    return kept?.seenAt.getTime() ?? Date.now();
  }

  return {
    beat: (heartbeat) =>
      calls.run(async (deadline) => {
        const now = await taken(heartbeat, deadline);
        await collection().deleteMany({ seenAt: { $lt: new Date(now - RECENT_MS) } });
      }),
    recent: (heartbeat) =>
      calls.run(async (deadline) => {
        const now = await taken(heartbeat, deadline);
        const rows = await collection()
          .find({ seenAt: { $gte: new Date(now - RECENT_MS) } }, { maxTimeMS: deadline.remaining() })
          .limit(MOST_RECENT)
          .toArray();
        return rows.map(({ _id: id, seenAt, ...row }): RecentProcess => {
          return { ...row, id, ageMs: Math.max(0, now - seenAt.getTime()) };
        });
      }),
    leave: async (id) => {
      await calls.run(() => collection().deleteOne({ _id: id }));
    },
  };
}
