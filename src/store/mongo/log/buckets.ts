// Buckets as collections: which there are, and made with their indexes when the first record comes.
import { setTimeout as sleep } from 'node:timers/promises';
import mongoose from 'mongoose';
import type { Deadline } from '../calls.ts';
import { type Bucket, type BucketKind, beginOf, bucketNamed, bucketPattern, endOf } from './bucket-name.ts';
import { BODY_INDEXES, ENTRY_INDEXES } from './entry-indexes.ts';

/** NamespaceNotFound, WriteConflict, IndexBuildAborted: another instance makes or drops it at the same time. */
const PASSING = new Set<unknown>([26, 112, 276]);
const TRIES = 5;
/** A bucket is taken to be there for so long: another instance may have dropped it, when what comes is old. */
const KNOWN_MS = 60_000;

export class Buckets {
  readonly #database: mongoose.mongo.Db;
  readonly #known = new Map<string, number>();
  readonly #making = new Map<string, Promise<void>>();

  constructor(database: mongoose.mongo.Db) {
    this.#database = database;
  }

  /** The buckets with records of a span of time, oldest first. */
  async list(
    kind: BucketKind,
    deadline: Deadline,
    from = 0,
    until = Number.MAX_SAFE_INTEGER,
  ): Promise<Bucket[]> {
    const found = await this.#database
      .listCollections(
        { name: { $regex: bucketPattern(kind) } },
        { nameOnly: true, maxTimeMS: deadline.remaining() },
      )
      .toArray();
    const buckets: Bucket[] = [];
    for (const { name } of found) {
      const bucket = bucketNamed(kind, name);
      if (bucket && endOf(bucket) > from && beginOf(bucket) < until) buckets.push(bucket);
    }
    return buckets.sort((a, b) => a.day - b.day || (a.keepDays ?? 0) - (b.keepDays ?? 0));
  }

  /** Makes a bucket with its indexes where it is not there; as often and by as many as like to. */
  async ensure(kind: BucketKind, name: string): Promise<void> {
    await this.ensureCollection(name, kind === 'entries' ? ENTRY_INDEXES : BODY_INDEXES);
  }

  /** As `ensure`, for what is kept beside buckets. */
  async ensureCollection(name: string, indexes: readonly mongoose.mongo.IndexDescription[]): Promise<void> {
    const known = this.#known.get(name);
    if (known !== undefined && known > performance.now()) return;
    let making = this.#making.get(name);
    if (making === undefined) {
      making = this.#make(name, indexes).finally(() => this.#making.delete(name));
      this.#making.set(name, making);
    }
    await making;
  }

  /** Drops a bucket; it may be gone already. */
  async drop(name: string): Promise<void> {
    this.#known.delete(name);
    await this.#database.dropCollection(name).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
  }

  async #make(name: string, indexes: readonly mongoose.mongo.IndexDescription[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#database.collection(name).createIndexes(indexes.map((index) => ({ ...index })));
        this.#known.set(name, performance.now() + KNOWN_MS);
        return;
      } catch (error) {
        if (attempt === TRIES || !PASSING.has((error as { code?: unknown }).code)) throw error;
        await sleep(20 * attempt);
      }
    }
  }
}

/** The collection is not there. */
export function isGone(error: unknown): boolean {
  return error instanceof mongoose.mongo.MongoServerError && error.code === 26;
}
