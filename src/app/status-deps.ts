// What is told of the instance that answers.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { StatusDeps, WatchedStore } from '../admin/status/service.ts';
import type { Base } from './base.ts';
import type { Ledger } from './open-ledger.ts';
import type { Readiness } from './readiness.ts';

const PACKAGE = new URL('../../package.json', import.meta.url);

export function statusDeps({
  settings,
  ledger,
  ready: { stores },
}: Pick<Base, 'settings'> & {
  readonly ledger: Ledger;
  readonly ready: Pick<Readiness, 'stores'>;
}): StatusDeps['status'] {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { readonly version: string };
  const { requestLog } = ledger.callBooks;
  const documents: WatchedStore = {
    name: 'documents',
    kind: settings.mongodbUri === undefined ? 'embedded' : 'mongodb',
    ready: stores.documents,
  };
  const shared: WatchedStore = {
    name: 'shared',
    kind: settings.redisUrl === undefined ? 'embedded' : 'redis',
    ready: stores.shared ?? (async () => true),
  };
  return {
    version,
    instance: `${hostname()}:${process.pid}`,
    startedAt: new Date().toISOString(),
    processes: settings.workers,
    stores: [documents, shared],
    log: () => ({ buffered: requestLog.stats().buffered, lagMs: requestLog.lagMs() }),
  };
}
