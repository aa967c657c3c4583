// The command `sluice ledger re-rate`: by the gateway that has the data folder open, else over the stores.
import { createAuditLog } from '../access/audit/audit-log.ts';
import { organisationIds } from '../access/organisation-ids.ts';
import { OwnPrices } from '../ledger/prices/own-prices.ts';
import { openPriceList } from '../ledger/prices/price-list.ts';
import { callControl, controlPath } from '../lib/control-socket.ts';
import type { Settings } from '../settings.ts';
import { follow } from '../store/follow.ts';
import { openMemoryState } from '../store/memory/open-memory.ts';
import { readReRateOrder, reRateAll } from './re-rate.ts';
import { openStores } from './stores.ts';

/** @throws Error with a message for people */
export async function reRateCommand(
  settings: Settings,
  given: Readonly<Record<string, unknown>>,
  say: (line: string) => void,
): Promise<void> {
  const order = readReRateOrder(given, Date.now());
  if (settings.mongodbUri === undefined) {
    const done = await callControl(controlPath(settings.dataDir), 're-rate', say, given);
    if (done !== undefined) return;
  }
  const stores = await openStores(settings);
  const { store, documents, feed, state } = stores;
  const own = state === undefined ? await openMemoryState({ dataDir: settings.dataDir }) : undefined;
  const organisations = (): Promise<Iterable<string>> => organisationIds(store.maintenance);
  const prices = new OwnPrices();
  const unfollow = await follow({ feed, documents, organisations, onError: () => {} }, [prices.replica]);
  const auditLog = createAuditLog({
    documents,
    now: Date.now,
    homeOrganisationId: '',
    addressOf: () => '',
    ownerOf: () => undefined,
    onLost: () => {},
  });
  try {
    await reRateAll(
      {
        log: store.requestLog,
        state: state ?? (own as NonNullable<typeof own>),
        documents,
        prices: openPriceList([], prices),
        systemChanges: auditLog.systemChanges,
        organisations,
        say,
        flush: async () => {},
      },
      order,
    );
  } finally {
    unfollow();
    await auditLog.close();
    await own?.close();
    await stores.close();
  }
}
