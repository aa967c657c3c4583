// A snapshot in memory that follows its documents: filled at the start, brought up to date by changes, read anew
// after a gap. It never goes backwards, in whichever order changes, answers and repetitions come: a document is
// handed on only when its version is newer than the one handed on before, archived ones as the last version.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Change, ChangeFeed } from './change-feed.ts';
import type { Collection } from './collection.ts';
import type { Document, DocumentStore } from './documents.ts';
import { seenVersions } from './seen-versions.ts';

export interface FollowDeps {
  readonly feed: ChangeFeed;
  readonly documents: Pick<DocumentStore, 'get' | 'page'>;
  /** In the order in which they are read. */
  readonly collections: readonly Collection<object>[];
  /** The organisations whose documents are read. */
  readonly organisations: () => Iterable<string> | Promise<Iterable<string>>;
  /** Takes a document as it is now. */
  readonly apply: (collection: Collection<object>, document: Document<object>) => void;
  /** Told when the store could not be read; it is asked again until it can. */
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

/** Resolves with how to stop, once everything was read. @throws GatewayError store_unavailable when it cannot be */
export async function follow(deps: FollowDeps): Promise<() => void> {
  const { feed, documents, collections, organisations, apply, onError } = deps;
  for (const { name, noticed } of collections) {
    if (!noticed) throw new Error(`collection ${name} is followed and not declared noticed`);
  }
  const named = new Map(collections.map((collection) => [collection.name, collection]));
  const versions = seenVersions();
  const wanted = new Map<string, Wanted>();
  let gap = false;
  let started = false;
  let stopped = false;
  let running = false;
  let failures = 0;

  const isNew = ({ collection, organisationId, id, version }: Change): boolean =>
    versions.last(collection, organisationId, id) < version;

  function take(collection: Collection<object>, document: Document<object>): void {
    const { organisationId, id, version } = document;
    if (!stopped && versions.see(collection.name, organisationId, id, version)) apply(collection, document);
  }

  async function readAll(status: 'active' | 'all'): Promise<void> {
    const ids = [...(await organisations())];
    for (const collection of collections) {
      // One queue for all lanes: each takes the next organisation.
      const queue = ids.values();
      const lane = async (): Promise<void> => {
        for (const id of queue) await readOrganisation(collection, id, status);
      };
      await Promise.all(Array.from({ length: LANES }, lane));
    }
  }

  async function readOrganisation(
    collection: Collection<object>,
    organisationId: string,
    status: 'active' | 'all',
  ): Promise<void> {
    const scope = { organisationId, workspaceId: undefined };
    let cursor: string | undefined;
    do {
      const at = cursor === undefined ? {} : { cursor };
      const page = await documents.page(scope, collection, { pageSize: PAGE, status, ...at });
      for (const document of page.documents) take(collection, document);
      cursor = page.nextCursor;
    } while (cursor !== undefined && !stopped);
  }

  async function readOne(key: string, { change, vain }: Wanted): Promise<void> {
    const collection = named.get(change.collection);
    if (collection === undefined || !isNew(change)) return;
    const scope = { organisationId: change.organisationId, workspaceId: undefined };
    const document = await documents.get(scope, collection, change.id, { archived: true });
    if (document !== undefined) take(collection, document);
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
    const collection = named.get(change.collection);
    if (collection !== undefined && document !== undefined) {
      take(collection, document);
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
