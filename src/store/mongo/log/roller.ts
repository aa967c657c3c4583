// Makes the roll-ups: of each hour that is over, and again of hours that were marked since.
import { randomUUID } from 'node:crypto';
import type { Deadline } from '../calls.ts';
import { type Bucket, beginOf, bucketNamed, endOf } from './bucket-name.ts';
import { KEY_INDEX } from './entry-indexes.ts';
import { hourRollups } from './hour-rollups.ts';
import type { LogPlace } from './place.ts';
import { giveLeaseBack, LEASE_MS, takeLease } from './roll-lease.ts';
import { markRolled, type RolledBucket, rolledBuckets, rolledOf } from './rolled-buckets.ts';
import { HOUR_MS, hourOf, STALE, type StaleHour } from './stale-hours.ts';
import { type RollupKey, replaceRollup } from './stored-rollups.ts';

/** One step: an hour of an organisation, with the time that it may take. */
const STEP_MS = 60_000;
/** Most marks that one run reads. */
const MARKS = 1000;
const EVERY_MS = 60_000;

interface OwnHour {
  readonly organisationId: string;
  readonly hour: number;
}

export class Roller {
  readonly #place: LogPlace;
  readonly #onTrouble: (error: unknown) => void;
  readonly #owner = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #closed = false;
  #term = 0;
  #leaseUntil = 0;

  constructor(place: LogPlace, onTrouble: (error: unknown) => void) {
    this.#place = place;
    this.#onTrouble = onTrouble;
  }

  /** Looks for what is due over and over. */
  start(): void {
    const wait = (): void => {
      // Instances that were started together do not come together.
      this.#timer = setTimeout(again, EVERY_MS * (0.75 + Math.random() / 2)).unref();
    };
    const again = (): void => {
      void this.roll().catch(this.#onTrouble).finally(wait);
    };
    wait();
  }

  /** Ends the current run after its step. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running?.catch(() => undefined);
  }

  /** Makes what is due by now, where no other instance does it. */
  roll(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /**
   * Makes all roll-ups of buckets that are about to be dropped, and calls back for each; false when another instance is
   * making roll-ups.
   */
  async rollWhole(buckets: readonly Bucket[], then: (bucket: Bucket) => Promise<void>): Promise<boolean> {
    await this.#running?.catch(() => undefined);
    if (!(await this.#leads())) return false;
    const known = await this.#step((deadline) => rolledBuckets(this.#place, deadline));
    for (const bucket of buckets) {
      const rolled = rolledOf(known, bucket);
      if (!rolled.dropping) {
        await this.#rollMarked({ bucket: bucket.name }, known);
        if (!(await this.#rollBucket(bucket, rolled, endOf(bucket)))) return false;
      }
      await then(bucket);
    }
    await this.#step((deadline) => giveLeaseBack(this.#place, this.#owner, deadline));
    this.#leaseUntil = 0;
    return true;
  }

  async #run(): Promise<void> {
    if (!(await this.#leads())) return;
    const now = Date.now();
    const { lateMs, settleMs, buckets } = this.#place;
    const over = hourOf(Math.max(0, now - lateMs - settleMs));
    const all = await this.#step((deadline) => buckets.list('entries', deadline));
    const known = await this.#step((deadline) => rolledBuckets(this.#place, deadline));
    await this.#rollMarked({ at: { $lte: now - settleMs } }, known);
    // The newest first: they are read most.
    for (const bucket of all.reverse()) {
      const rolled = rolledOf(known, bucket);
      const until = Math.min(endOf(bucket), over);
      if (rolled.dropping || rolled.until >= until) continue;
      if (!(await this.#rollBucket(bucket, rolled, until))) return;
    }
    await this.#step((deadline) => giveLeaseBack(this.#place, this.#owner, deadline));
    this.#leaseUntil = 0;
  }

  /** False when it must not go on. */
  async #rollBucket(bucket: Bucket, rolled: RolledBucket, until: number): Promise<boolean> {
    if (rolled.until >= until) return true;
    const hours = await this.#hoursOf(bucket, Math.max(rolled.until, beginOf(bucket)), until);
    if (hours === undefined) return false;
    for (const { organisationId, hour } of hours) {
      if (!(await this.#leads())) return false;
      await this.#rollHour({ organisationId, hour, bucket: bucket.name, generation: rolled.generation });
    }
    await this.#step((deadline) => markRolled(this.#place, rolled, until, deadline));
    return true;
  }

  async #rollHour(hour: Omit<RollupKey, 'cuboid'>): Promise<void> {
    const term = this.#term;
    await this.#step(async (deadline) => {
      const documents = await hourRollups(this.#place, hour, term, deadline);
      await replaceRollup(this.#place, hour.hour, documents, deadline);
    });
  }

  /** Hours with entries; undefined when it must not go on. */
  async #hoursOf({ name }: Bucket, from: number, until: number): Promise<OwnHour[] | undefined> {
    const collection = this.#place.database.collection(name);
    const organisations = await this.#step((deadline) =>
      collection.distinct('organisationId', {}, { maxTimeMS: deadline.remaining() }),
    );
    const hours: OwnHour[] = [];
    for (const organisationId of organisations as string[]) {
      if (!(await this.#leads())) return undefined;
      hours.push(
        ...(await this.#step((deadline) => this.#hoursIn(name, organisationId, from, until, deadline))),
      );
    }
    return hours;
  }

  async #hoursIn(
    name: string,
    organisationId: string,
    from: number,
    until: number,
    deadline: Deadline,
  ): Promise<OwnHour[]> {
    const found: OwnHour[] = [];
    // From entry to entry: finding the first one after an hour is a single index lookup.
    for (let at = from; at < until; ) {
      const [next] = await this.#place.database
        .collection<{ createdAt: number }>(name)
        .find({ organisationId, createdAt: { $gte: at, $lt: until } })
        .project<{ createdAt: number }>({ _id: 0, createdAt: 1 })
        .sort({ createdAt: 1, id: 1 })
        .hint(KEY_INDEX)
        .limit(1)
        .maxTimeMS(deadline.remaining())
        .toArray();
      if (next === undefined) break;
      const hour = hourOf(next.createdAt);
      found.push({ organisationId, hour });
      at = hour + HOUR_MS;
    }
    return found;
  }

  async #rollMarked(
    which: { readonly at: { readonly $lte: number } } | { readonly bucket: string },
    known: ReadonlyMap<string, RolledBucket>,
  ): Promise<void> {
    const stale = this.#place.database.collection<StaleHour>(STALE);
    for (;;) {
      const marks = await this.#step((deadline) =>
        stale.find(which).sort({ at: 1 }).limit(MARKS).maxTimeMS(deadline.remaining()).toArray(),
      );
      for (const { _id, bucket, organisationId, hour, times } of marks) {
        if (!(await this.#leads())) return;
        const named = bucketNamed('entries', bucket);
        const rolled = named && rolledOf(known, named);
        // A bucket that is dropped, or about to be, keeps its roll-ups. An hour not yet rolled up needs no mark:
        // the appends that were under way when it was marked have ended by then.
        if (rolled && !rolled.dropping && hour < rolled.until) {
          await this.#rollHour({ organisationId, hour, bucket, generation: rolled.generation });
        }
        await this.#step((deadline) => stale.deleteOne({ _id, times }, { maxTimeMS: deadline.remaining() }));
      }
      if (marks.length < MARKS) return;
    }
  }

  /** Whether this instance still has the lease; renews it in good time. */
  async #leads(): Promise<boolean> {
    if (this.#closed) return false;
    if (performance.now() < this.#leaseUntil - LEASE_MS / 2) return true;
    const asked = performance.now();
    const term = await this.#step((deadline) => takeLease(this.#place, this.#owner, deadline));
    if (term === undefined) return false;
    this.#term = term;
    this.#leaseUntil = asked + LEASE_MS;
    return true;
  }

  #step<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    return this.#place.calls.run(work, STEP_MS);
  }
}
