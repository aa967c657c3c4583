// One record for each collection with what holds for all of its documents.
import type mongoose from 'mongoose';
import type { Collection } from '../collection.ts';
import { newerSchema } from '../upgrades.ts';
import { MAJORITY } from './transaction.ts';

/** With a dot, which no declared name has. */
const RECORDS = 'sluice.columns';

export interface CollectionRecord {
  readonly _id: string;
  /** Declared fields whose value every document is known to have next to its body. */
  readonly fields?: readonly string[];
  /** All documents were of this schema version, or newer, when `sluice migrate` was through. */
  readonly schemaVersion?: number;
}

export function recordsOf(connection: mongoose.Connection): mongoose.Collection<CollectionRecord> {
  return connection.collection<CollectionRecord>(RECORDS);
}

/**
 * Refuses a program that is older than the data: `sluice migrate` says that no instance of it runs any more. Until then
 * instances of both versions may run side by side, and the older one refuses the documents that the newer one wrote.
 */
export async function refuseOlderProgram(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
): Promise<void> {
  const names = collections.map(({ name }) => name);
  const records = await recordsOf(connection)
    .find({ _id: { $in: names } })
    .toArray();
  for (const { _id, schemaVersion = 0 } of records) {
    const declared = collections.find(({ name }) => name === _id);
    if (declared !== undefined && schemaVersion > declared.schemaVersion) {
      throw newerSchema(declared, schemaVersion);
    }
  }
}

/** All documents of the collection are of its schema version. Never backwards. */
export async function markUpgraded(
  connection: mongoose.Connection,
  { name, schemaVersion }: Collection<object>,
): Promise<void> {
  await recordsOf(connection).updateOne(
    { _id: name },
    { $max: { schemaVersion } },
    { upsert: true, writeConcern: MAJORITY },
  );
}
