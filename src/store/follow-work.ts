// Documents that are work to do: followed as they change, and looked through at an interval for what is due.
import type { ChangeFeed } from './change-feed.ts';
import type { Collection } from './collection.ts';
import type { Document, DocumentStore } from './documents.ts';
import { follow } from './follow.ts';
import { Replica } from './replica.ts';

/** Where the documents are, and who is told of trouble. */
export interface WorkSource {
  readonly feed: ChangeFeed;
  readonly documents: DocumentStore;
  readonly organisations: () => Iterable<string> | Promise<Iterable<string>>;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** Who does the work, in turns. */
export interface Turns<B extends object> {
  /** Notes a document as it is now. */
  take(document: Document<B>): void;
  /** Gives turns to what is due. */
  look(): void;
  /** Ends the turns that run, within seconds. */
  stop(): Promise<void>;
}

/** How often due work is looked for, in milliseconds. */
const LOOK_MS = 1000;

/**
 * Resolves when all documents were read. `close` ends the turns too.
 * @param what the trouble of documents that cannot be read, for the log
 * @throws GatewayError store_unavailable
 */
export async function followWork<B extends object>(
  { feed, documents, organisations, onTrouble }: WorkSource,
  collection: Collection<B>,
  turns: Turns<B>,
  what: string,
): Promise<{ close(): Promise<void> }> {
  const replica = new Replica(collection, {
    row: () => undefined,
    changed: (_now, _before, document) => turns.take(document),
  });
  const onError = (error: unknown): void => onTrouble(error, what);
  const unfollow = await follow({ feed, documents, organisations, onError }, [replica]);
  const timer = setInterval(() => turns.look(), LOOK_MS).unref();
  turns.look();
  return {
    async close() {
      clearInterval(timer);
      unfollow();
      await turns.stop();
    },
  };
}
