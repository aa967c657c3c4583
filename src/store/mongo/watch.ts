// Changes of documents as MongoDB records them itself: a change stream, picked up where it broke off, and a poll
// where the server refuses change streams. Either reports every write on the server, by any instance.
import { setTimeout as sleep } from 'node:timers/promises';
import type mongoose from 'mongoose';
import type { ChangeListener, ChangeWatch } from '../change-feed.ts';
import type { Collection } from '../collection.ts';
import { pollChanges } from './poll.ts';
import { isRefusal, isTokenLost } from './watch-failures.ts';

export interface WatchOptions {
  /** Aborted when the connection is about to be closed. */
  readonly closing: AbortSignal;
  /** Called when the server refuses change streams: from then on the server is polled. */
  readonly onPolling?: (error: unknown) => void;
}

type ResumeToken = mongoose.mongo.ResumeToken;
type Event = mongoose.mongo.ChangeStreamDocument<{
  organisationId?: unknown;
  id?: unknown;
  version?: unknown;
}>;

const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 2000;
/** How long the server waits for something to tell, in milliseconds: also how long a stop may take. */
const AWAIT_MS = 500;
/** How often change streams are tried again on a server that refused them: it may have been replaced. */
const AGAIN_MS = 10 * 60_000;
/** What a change is told of, and no more: not the body. */
const TOLD = {
  operationType: 1,
  ns: 1,
  'fullDocument.organisationId': 1,
  'fullDocument.id': 1,
  'fullDocument.version': 1,
};

/** Watches the collections that are declared `noticed`. */
export function mongoWatch(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
  { closing, onPolling }: WatchOptions,
): ChangeWatch {
  const noticed = collections.filter((collection) => collection.noticed);
  return (tell) => {
    const stopping = new AbortController();
    const signal = AbortSignal.any([stopping.signal, closing]);
    const watching = (async () => {
      while (noticed.length > 0 && !signal.aborted) {
        try {
          await streamChanges(connection, noticed, tell, signal);
        } catch (error) {
          if (signal.aborted) return;
          onPolling?.(error);
          const again = AbortSignal.any([signal, AbortSignal.timeout(AGAIN_MS)]);
          await pollChanges(connection, noticed, tell, again);
        }
      }
    })();
    return async () => {
      stopping.abort();
      await watching.catch(() => undefined);
    };
  };
}

/** Returns when it is stopped. @throws the server's error when it refuses change streams. */
async function streamChanges(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
  tell: ChangeListener,
  signal: AbortSignal,
): Promise<void> {
  let token: ResumeToken | undefined;
  let failures = 0;
  while (!signal.aborted) {
    const stream = openStream(connection, collections, token);
    const close = (): void => void stream.close().catch(() => undefined);
    signal.addEventListener('abort', close, { once: true });
    let afresh = token === undefined;
    const stands = (): void => {
      if (afresh) tell({ kind: 'resynced' });
      afresh = false;
      failures = 0;
    };
    try {
      // The first answer says that the stream stands, what happens from here on is told; the second one may take its
      // time, and not every server tells where it is in the first.
      stream.once('resumeTokenChanged', stands);
      let event = await stream.tryNext();
      stands();
      while (!signal.aborted) {
        token = stream.resumeToken;
        if (event !== null && !tellOf(event, tell)) {
          // The database or a collection was dropped: the stream ends here, and another begins.
          token = undefined;
          break;
        }
        event = await stream.tryNext();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isTokenLost(error)) token = undefined;
      else if (isRefusal(error)) throw error;
      const ms = Math.min(RETRY_LAST_MS, RETRY_FIRST_MS * 2 ** Math.min(failures++, 10));
      // Half of it at random: instances do not come back all at once.
      await sleep(ms / 2 + Math.random() * (ms / 2), undefined, { signal }).catch(() => undefined);
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
  }
}

function openStream(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
  token: ResumeToken | undefined,
): mongoose.mongo.ChangeStream<mongoose.mongo.Document, Event> {
  const names = collections.map(({ name }) => name);
  const pipeline = [
    { $match: { $or: [{ 'ns.coll': { $in: names } }, { operationType: 'invalidate' }] } },
    { $project: TOLD },
  ];
  const database = connection.getClient().db(connection.name);
  return database.watch<mongoose.mongo.Document, Event>(pipeline, {
    // An update alone does not say whose document it is.
    fullDocument: 'updateLookup',
    maxAwaitTimeMS: AWAIT_MS,
    ...(token === undefined ? {} : { resumeAfter: token }),
  });
}

/** False when the stream has ended. */
function tellOf(event: Event, tell: ChangeListener): boolean {
  switch (event.operationType) {
    case 'insert':
    case 'update':
    case 'replace': {
      const { organisationId, id, version } = event.fullDocument ?? {};
      if (typeof organisationId === 'string' && typeof id === 'string' && typeof version === 'number') {
        tell({ kind: 'changed', change: { organisationId, collection: event.ns.coll, id, version } });
      }
      return true;
    }
    case 'invalidate':
    case 'drop':
    case 'rename':
    case 'dropDatabase':
      return false;
    default:
      return true;
  }
}
