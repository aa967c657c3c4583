// Brings a database to the declarations: values of new fields, then the indexes that are missing.
import type mongoose from 'mongoose';
import { fail } from '../../lib/errors.ts';
import type { Collection } from '../collection.ts';
import { fillColumns } from './backfill.ts';
import { modelOf } from './document-schema.ts';
import { KEPT, KEPT_INDEXES } from './kept-values.ts';
import { FEEDBACK, FEEDBACK_INDEXES } from './log/feedback.ts';
import { STALE, STALE_INDEXES } from './log/stale-hours.ts';

type Index = mongoose.mongo.IndexDescription;
type IndexedCollection = Pick<mongoose.mongo.Collection, 'collectionName' | 'createIndexes' | 'listIndexes'>;

/**
 * Idempotent, and safe while other instances run: it only adds. An index that is no longer declared stays, because
 * an instance of the version before may still need it.
 */
export async function buildIndexes(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
): Promise<void> {
  const database = connection.getClient().db(connection.name);
  // Read once: what is not there has no index to list and no document to fill, which is all of a new database.
  const listed = await database.listCollections({}, { nameOnly: true }).toArray();
  const there = new Set(listed.map(({ name }) => name));
  // First the values: a unique index over values that are not there yet would take in anything.
  await fillColumns(connection, collections, there);
  for (const collection of collections) {
    const model = modelOf(connection, collection);
    const declared = model.schema
      .indexes()
      .map(([keys, options]) => ({ key: keys as Record<string, 1>, ...options }) as Index);
    await build(model.collection as unknown as IndexedCollection, declared, there);
  }
  await build(database.collection(FEEDBACK), FEEDBACK_INDEXES, there);
  await build(database.collection(STALE), STALE_INDEXES, there);
  await build(database.collection(KEPT), KEPT_INDEXES, there);
}

/** Only what is missing is asked for: a start in front of a complete database changes nothing. */
async function build(
  collection: IndexedCollection,
  declared: readonly Index[],
  there: ReadonlySet<string>,
): Promise<void> {
  const built = new Set(there.has(collection.collectionName) ? await present(collection) : []);
  const missing = declared.filter(({ name }) => !built.has(String(name)));
  if (missing.length === 0) return;
  try {
    await collection.createIndexes(missing.map((index) => ({ ...index })));
  } catch (cause) {
    const names = missing.map(({ name }) => name).join(', ');
    throw fail('store_unavailable', `the indexes of ${collection.collectionName} cannot be built: ${names}`, {
      cause,
    });
  }
}

const NO_SUCH_COLLECTION = 26;

async function present(collection: IndexedCollection): Promise<string[]> {
  try {
    const indexes = await collection.listIndexes().toArray();
    return indexes.map(({ name }) => String(name));
  } catch (error) {
    if ((error as { code?: unknown }).code === NO_SUCH_COLLECTION) return [];
    throw error;
  }
}
