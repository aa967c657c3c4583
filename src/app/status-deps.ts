// What is told of the gateway.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { StatusDeps, WatchedStore } from '../admin/status/service.ts';
import type { Base } from './base.ts';
import type { Instances } from './instances.ts';
import type { Ledger } from './open-ledger.ts';
import type { Readiness } from './readiness.ts';

const PACKAGE = new URL('../../package.json', import.meta.url);

/** The program's version. */
export function ownVersion(): string {
  return (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { readonly version: string }).version;
}

export function statusDeps({
  settings,
  ledger,
  ready: { stores },
  instances,
}: Pick<Base, 'settings'> & {
  readonly ledger: Ledger;
  readonly ready: Pick<Readiness, 'stores'>;
  readonly instances: Pick<Instances, 'list'>;
}): StatusDeps['status'] {
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
    version: ownVersion(),
    instance: `${hostname()}:${process.pid}`,
    startedAt: new Date().toISOString(),
    processes: settings.workers,
    stores: [documents, shared],
    log: () => ({ buffered: requestLog.stats().buffered, lagMs: requestLog.lagMs() }),
    processesOf: instances.list,
  };
}
