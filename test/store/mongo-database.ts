// A database of a test file's own on the run's server, and the test's own view of it.
import { randomUUID } from 'node:crypto';
import mongoose from 'mongoose';
import type { SharedMongo } from '../support/servers.ts';

/** A name that no other file and no other run has: the server may be the user's. */
export function freshDatabase(): string {
  return `sluice_test_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
}

/** Hands out the database, and disconnects. */
export async function withDatabase<T>(
  uri: string,
  name: string,
  use: (database: mongoose.mongo.Db) => Promise<T>,
): Promise<T> {
  const client = new mongoose.mongo.MongoClient(uri, { serverSelectionTimeoutMS: 5000 });
  try {
    return await use(client.db(name));
  } finally {
    await client.close();
  }
}

/** Leaves a user's server as it was. */
export async function dropDatabase(server: SharedMongo, name: string): Promise<void> {
  if (server.disposable) return;
  await withDatabase(server.uri, name, (database) => database.dropDatabase());
}
