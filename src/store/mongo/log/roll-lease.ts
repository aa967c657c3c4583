// The lease of making roll-ups: one instance at a time has it, the first to ask.
import mongoose from 'mongoose';
import type { Deadline } from '../calls.ts';
import { isDuplicateKey } from '../failures.ts';
import { MAJORITY } from '../transaction.ts';
import type { LogPlace } from './place.ts';

interface Lease {
  readonly _id: string;
  readonly owner: string;
  /** Unix milliseconds. */
  readonly until: number;
  readonly term: number;
}

const LEASES = 'log.leases';
export const LEASE_MS = 60_000;

/** Takes the lease, or keeps it; the number of this time, which is higher each time. Undefined: another has it. */
export async function takeLease(
  { database }: LogPlace,
  owner: string,
  deadline: Deadline,
): Promise<number | undefined> {
  const now = Date.now();
  try {
    const lease = await database.collection<Lease>(LEASES).findOneAndUpdate(
      { _id: 'sums', $or: [{ until: { $lt: now } }, { owner }] },
      { $set: { owner, until: now + LEASE_MS }, $inc: { term: 1 } },
      {
        upsert: true,
        returnDocument: mongoose.mongo.ReturnDocument.AFTER,
        maxTimeMS: deadline.remaining(),
        writeConcern: MAJORITY,
      },
    );
    return lease?.term;
  } catch (error) {
    if (isDuplicateKey(error)) return undefined;
    throw error;
  }
}

export async function giveLeaseBack(
  { database }: LogPlace,
  owner: string,
  deadline: Deadline,
): Promise<void> {
  await database
    .collection<Lease>(LEASES)
    .updateOne({ _id: 'sums', owner }, { $set: { until: 0 } }, { maxTimeMS: deadline.remaining() });
}
