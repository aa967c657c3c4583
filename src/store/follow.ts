// Replicas follow their documents: filled at the start, brought up to date by changes, read anew after a gap. They
// never go backwards, in whichever order changes, answers and repetitions come: see the version gate of replica.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Change, ChangeFeed } from './change-feed.ts';
import type { Document, DocumentStore } from './documents.ts';
import type { Followed } from './replica.ts';

/** Where replicas are read from. */
export interface ReplicaSource {
  readonly feed: ChangeFeed;
  readonly documents: Pick<DocumentStore, 'get' | 'page'>;
  /** Ids of the organisations whose documents are read. */
  readonly organisations: () => Iterable<string> | Promise<Iterable<string>>;
  /** Called when the store could not be read; it is retried until it can. */
  readonly onError: (error: unknown) => void;
}

/** A change to read, and how often it was not found. */
interface Wanted {
  readonly change: Change;
  readonly vain: number;
}

const PAGE = 1000;
/** Reads at once: of single documents, and of organisations. */
const PARALLEL = 16;
const LANES = 4;
const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 1000;
/** How often a reported change that is not found is looked for again: a store's reads may lag behind its writes. */
const VAIN = 4;

/**
 * Resolves with how to stop, once everything was read.
 * @param replicas in the order in which they are read
 * @throws GatewayError store_unavailable when it cannot be
 */
export async function follow(source: ReplicaSource, replicas: readonly Followed[]): Promise<() => void> {
  const { feed, documents, organisations, onError } = source;
  const collections = replicas.map(({ collection }) => collection);
  for (const { name, noticed } of collections) {
    if (!noticed) throw new Error(`collection ${name} is followed and not declared noticed`);
  }
  const named = new Map(replicas.map((replica) => [replica.collection.name, replica]));
  const wanted = new Map<string, Wanted>();
  let gap = false;
  let started = false;
  let stopped = false;
  let running = false;
  let failures = 0;

  const isNew = ({ collection, organisationId, id, version }: Change): boolean =>
    (named.get(collection)?.version(organisationId, id) ?? 0) < version;

  function take(replica: Followed, document: Document<object>): void {
    if (!stopped) replica.apply(document);
  }

  async function readAll(status: 'active' | 'all'): Promise<void> {
    const ids = [...(await organisations())];
    for (const replica of replicas) {
      // One queue for all lanes: each takes the next organisation.
      const queue = ids.values();
      const lane = async (): Promise<void> => {
        for (const id of queue) await readOrganisation(replica, id, status);
      };
      await Promise.all(Array.from({ length: LANES }, lane));
    }
  }

  async function readOrganisation(
    replica: Followed,
    organisationId: string,
    status: 'active' | 'all',
  ): Promise<void> {
    const scope = { organisationId, workspaceId: undefined };
    let cursor: string | undefined;
    do {
      const at = cursor === undefined ? {} : { cursor };
      const page = await documents.page(scope, replica.collection, { pageSize: PAGE, status, ...at });
      for (const document of page.documents) take(replica, document);
      cursor = page.nextCursor;
    } while (cursor !== undefined && !stopped);
  }

  async function readOne(key: string, { change, vain }: Wanted): Promise<void> {
    const replica = named.get(change.collection);
    if (replica === undefined || !isNew(change)) return;
    const scope = { organisationId: change.organisationId, workspaceId: undefined };
    const document = await documents.get(scope, replica.collection, change.id, { archived: true });
    if (document !== undefined) take(replica, document);
    if (isNew(change) && vain < VAIN && !wanted.has(key)) {
      await sleep(RETRY_FIRST_MS);
      want(key, { change, vain: vain + 1 });
    }
  }

  /** Counts the newest version that was reported. */
  function want(key: string, one: Wanted): void {
    const other = wanted.get(key);
    if (other === undefined || other.change.version < one.change.version) wanted.set(key, one);
  }

  /** A gap that cannot be read yet, e.g. for one document of a newer program, keeps no change from being read. */
  async function readNext(): Promise<void> {
    const reading = gap ? readAll('all') : undefined;
    gap = false;
    const [missed] = await Promise.allSettled([reading]);
    if (missed.status === 'rejected') gap = true;
    const some = [...wanted].slice(0, PARALLEL);
    for (const [key] of some) wanted.delete(key);
    const outcomes = await Promise.allSettled(some.map(([key, one]) => readOne(key, one)));
    for (const [index, [key, one]] of some.entries())
      if (outcomes[index]?.status === 'rejected') want(key, one);
    const failed = [missed, ...outcomes].find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async function run(): Promise<void> {
    if (running || !started) return;
    running = true;
    while (!stopped && (gap || wanted.size > 0)) {
      try {
        await readNext();
        failures = 0;
      } catch (error) {
        onError(error);
        const ms = Math.min(RETRY_LAST_MS, RETRY_FIRST_MS * 2 ** Math.min(failures++, 10));
        // Half of it at random: instances that lost the same store do not come back all at once.
        await sleep(ms / 2 + Math.random() * (ms / 2), undefined, { ref: false });
      }
    }
    running = false;
  }

  // Followed before it is read, so that no change falls between.
  const unsubscribe = feed.subscribe(collections, (event) => {
    if (event.kind === 'resynced') {
      gap = true;
      void run();
      return;
    }
    const { change, document } = event;
    const replica = named.get(change.collection);
    if (replica !== undefined && document !== undefined) {
      take(replica, document);
      return;
    }
    if (!isNew(change)) return;
    want(JSON.stringify([change.collection, change.organisationId, change.id]), { change, vain: 0 });
    void run();
  });
  const stop = (): void => {
    stopped = true;
    unsubscribe();
  };
  try {
    // A gap before the first reading does not matter.
    await feed.listening();
    gap = false;
    await readAll('active');
    started = true;
    void run();
  } catch (error) {
    stop();
    throw error;
  }
  return stop;
}
