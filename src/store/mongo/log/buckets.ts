// Buckets as collections: which there are, and made with their indexes when the first record comes.
import { setTimeout as sleep } from 'node:timers/promises';
import mongoose from 'mongoose';
import { invalidField } from '../../../lib/errors.ts';
import type { Deadline } from '../calls.ts';
import { type Bucket, type BucketKind, beginOf, bucketNamed, bucketPattern, endOf } from './bucket-name.ts';
import { BODY_INDEXES, ENTRY_INDEXES } from './entry-indexes.ts';

/** NamespaceNotFound, WriteConflict, IndexBuildAborted: another instance makes or drops it at the same time. */
const PASSING = new Set<unknown>([26, 112, 276]);
const TRIES = 5;
/** A bucket is taken to be there for so long; one of an older day, which another instance may drop, for less. */
const KNOWN_MS = 60_000;
const OLD_KNOWN_MS = 1000;
const DAY_MS = 86_400_000;
/** Days before today that are not old, and days after it. */
const NEAR = 2;
/** Buckets of other days than those: who may say an entry's time must not make collections without end. */
const MOST = 2000;

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

  /**
   * Makes a bucket with its indexes where it is not there; as often and by as many as like to.
   * @throws validation_failed when there are too many buckets of days long ago, or of days to come.
   */
  async ensure(kind: BucketKind, name: string, deadline: Deadline): Promise<void> {
    if (this.#knows(name)) return;
    const near = isNear(bucketNamed(kind, name)?.day ?? 0);
    if (!near) await this.#refuseMore(kind, name, deadline);
    const indexes = kind === 'entries' ? ENTRY_INDEXES : BODY_INDEXES;
    await this.ensureCollection(name, indexes, near ? KNOWN_MS : OLD_KNOWN_MS);
  }

  /** As `ensure`, for collections other than buckets. */
  async ensureCollection(
    name: string,
    indexes: readonly mongoose.mongo.IndexDescription[],
    knownMs: number = KNOWN_MS,
  ): Promise<void> {
    if (this.#knows(name)) return;
    let making = this.#making.get(name);
    if (making === undefined) {
      making = this.#make(name, indexes, knownMs).finally(() => this.#making.delete(name));
      this.#making.set(name, making);
    }
    await making;
  }

  /** Makes the indexes of all buckets: of one that was dropped while an entry came there may be none. */
  async repair(deadline: Deadline): Promise<void> {
    for (const kind of ['entries', 'bodies'] as const) {
      for (const { name } of await this.list(kind, deadline)) {
        await this.#make(name, kind === 'entries' ? ENTRY_INDEXES : BODY_INDEXES, OLD_KNOWN_MS);
      }
    }
  }

  #knows(name: string): boolean {
    const known = this.#known.get(name);
    return known !== undefined && known > performance.now();
  }

  async #refuseMore(kind: BucketKind, name: string, deadline: Deadline): Promise<void> {
    const all = await this.list(kind, deadline);
    const others = all.filter(({ day }) => !isNear(day));
    if (others.length < MOST || others.some((bucket) => bucket.name === name)) return;
    throw invalidField('createdAt', 'is of one more day than the request log has room for', 'range');
  }

  /** Drops a bucket; it may be dropped already. */
  async drop(name: string): Promise<void> {
    this.#known.delete(name);
    await this.#database.dropCollection(name).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
  }

  async #make(
    name: string,
    indexes: readonly mongoose.mongo.IndexDescription[],
    knownMs: number,
  ): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#database.collection(name).createIndexes(indexes.map((index) => ({ ...index })));
        this.#known.set(name, performance.now() + knownMs);
        return;
      } catch (error) {
        if (attempt === TRIES || !PASSING.has((error as { code?: unknown }).code)) throw error;
        await sleep(20 * attempt);
      }
    }
  }
}

function isNear(day: number): boolean {
  const today = Math.floor(Date.now() / DAY_MS);
  return day >= today - NEAR && day <= today + NEAR;
}

/** The collection is not there. */
export function isGone(error: unknown): boolean {
  return error instanceof mongoose.mongo.MongoServerError && error.code === 26;
}
