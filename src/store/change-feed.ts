// What instances learn of changed documents. A change is told from several sides and none of them is trusted to
// be complete: by the instance that made it, at once; by the shared store's notices; by the document store's own
// record of its writes, which also tells of what a crashed instance could not. So a change may come twice or late,
// and who follows goes by versions (see follow.ts).
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from './collection.ts';
import type { Document } from './documents.ts';
import { checkNotice, type Notice } from './shared/notices.ts';
import type { SharedState } from './shared-state.ts';

/** A document has a new version; archived ones too. */
export type Change = Notice;

/** `resynced`: changes may have been missed until now, and none from now on; followers read again. */
export type ChangeEvent =
  | {
      readonly kind: 'changed';
      readonly change: Change;
      /** The document as written, where it was this instance that wrote it. */
      readonly document?: Document<object>;
    }
  | { readonly kind: 'resynced' };

/** Must not throw; what it throws is dropped. */
export type ChangeListener = (event: ChangeEvent) => void;

export interface ChangeFeed {
  /** Calls the listener for every change of these collections from now on; answers how to stop. */
  subscribe(collections: readonly Collection<object>[], listener: ChangeListener): () => void;
  /** Resolves when the store's own record is listened to, or after a second: what is read after it is read once. */
  listening(): Promise<void>;
}

/** A store's own record of its writes, told until the answered function is called and settled. */
export type ChangeWatch = (tell: ChangeListener) => () => Promise<void>;

export interface FeedDeps {
  /** Between instances: the fast way. */
  readonly state?: Pick<SharedState, 'publish' | 'subscribe'> | undefined;
  /** Reports every change; absent when there is one instance. */
  readonly watch?: ChangeWatch | undefined;
  /** Called with a notice that could not be published; the change watch reports the change, too. */
  readonly onError: (error: unknown) => void;
}

export interface OpenFeed extends ChangeFeed {
  /** Reports what this instance wrote: to its own followers before it returns, to other instances in the background. */
  wrote(documents: readonly { collection: Collection<object>; document: Document<object> }[]): void;
  /** A write's outcome is unknown: without a change watch, followers read again once it can no longer be made. */
  unsure(): void;
  /** Resolves when what was told is published, or given up. */
  close(): Promise<void>;
}

/** Milliseconds after a call's deadline at which an abandoned write is either made or never will be. */
const UNSURE_MS = 6000;
const LISTENING_MS = 1000;

export function openChangeFeed({ state, watch, onError }: FeedDeps): OpenFeed {
  const listeners = new Set<{ readonly names: ReadonlySet<string>; readonly listener: ChangeListener }>();
  const publishing = new Set<Promise<unknown>>();
  let unsure: 'no' | 'waiting' | 'again' = 'no';
  let timer: NodeJS.Timeout | undefined;
  let listens: (() => void) | undefined;
  const listening = new Promise<void>((resolve) => {
    listens = resolve;
  });

  const tell: ChangeListener = (event) => {
    if (event.kind === 'resynced') listens?.();
    for (const { names, listener } of listeners) {
      if (event.kind === 'changed' && !names.has(event.change.collection)) continue;
      try {
        listener(event);
      } catch (error) {
        // One listener's fault must not keep a change from the others.
        onError(error);
      }
    }
  };

  // Begun when somebody listens: a command that only writes needs no ear.
  let stopWatching: (() => Promise<void>) | undefined;
  const unsubscribe = state?.subscribe((event) => {
    if (event.kind === 'changed') tell({ kind: 'changed', change: event.notice });
    // The sure way has no gap where the fast one has.
    else if (watch === undefined) tell({ kind: 'resynced' });
  });

  function publish(change: Change): void {
    if (state === undefined) return;
    const published = state.publish(change).catch(onError);
    publishing.add(published);
    published.finally(() => publishing.delete(published));
  }

  /** One timer for however many writes: the last of them counts. */
  function readAgain(): void {
    if (unsure !== 'no') {
      unsure = 'again';
      return;
    }
    unsure = 'waiting';
    tell({ kind: 'resynced' });
    timer = setTimeout(() => {
      const more = unsure === 'again';
      unsure = 'no';
      if (more) readAgain();
      else tell({ kind: 'resynced' });
    }, UNSURE_MS).unref();
  }

  return {
    subscribe: (collections, listener) => {
      const entry = { names: new Set(collections.map(({ name }) => name)), listener };
      listeners.add(entry);
      stopWatching ??= watch?.(tell);
      return () => {
        listeners.delete(entry);
      };
    },

    wrote: (documents) => {
      for (const { collection, document } of documents) {
        const { organisationId, id, version } = document;
        const change = { organisationId, collection: collection.name, id, version };
        checkNotice(change);
        tell({ kind: 'changed', change, document });
        publish(change);
      }
    },

    listening: async () => {
      if (stopWatching === undefined) return;
      await Promise.race([listening, sleep(LISTENING_MS, undefined, { ref: false })]);
    },

    unsure: () => {
      if (watch === undefined) readAgain();
    },

    close: async () => {
      clearTimeout(timer);
      await Promise.all(publishing);
      unsubscribe?.();
      await stopWatching?.();
      listeners.clear();
    },
  };
}
