// Exports of the request log: run in the background, and their files served.
import type { Logger } from 'pino';
import { type ExportFile, exportFile } from '../ledger/exports/file.ts';
import { ExportLinks } from '../ledger/exports/link.ts';
import { runExports } from '../ledger/exports/runner.ts';
import type { ChangeFeed } from '../store/change-feed.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { LogStore } from '../store/log-store.ts';
import type { Stores } from './stores.ts';

/** Exports, opened. */
export interface OpenExports {
  readonly links: ExportLinks;
  /** The file that an address is for; undefined when there is none. */
  readonly file: (token: string) => Promise<ExportFile | undefined>;
  close(): Promise<void>;
}

/** @param alone whether no other process has the store */
export async function openExports(
  deps: {
    readonly stores: Stores;
    readonly feed: ChangeFeed;
    readonly documents: DocumentStore;
    readonly store: LogStore;
    readonly organisations: () => Iterable<string> | Promise<Iterable<string>>;
    readonly alone: boolean;
  },
  log: Logger,
): Promise<OpenExports> {
  const { stores, documents } = deps;
  const { blobs } = stores;
  const links = new ExportLinks(stores.hashSecret);
  const runner = await runExports({
    ...deps,
    blobs,
    now: Date.now,
    onTrouble: (error, what) => log.error({ err: error }, what),
  });
  return {
    links,
    file: (token) => exportFile({ documents, blobs, links, now: Date.now }, token),
    close: runner.close,
  };
}
