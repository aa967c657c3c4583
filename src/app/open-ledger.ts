// What calls are counted by: books, limits, budget alerts, re-rating and exports of the log.

import { Groups } from '../ledger/limits/groups.ts';
import { openLimits } from '../ledger/limits/open-limits.ts';
import { UsageReader } from '../ledger/limits/usage.ts';
import { LiveEntries } from '../ledger/live-entries.ts';
import { createReRateJobs } from '../ledger/re-rate/jobs.ts';
import { createMailer } from '../lib/mailer.ts';
import { openMemoryState } from '../store/memory/open-memory.ts';
import { openBudgetAlerts } from './alerts.ts';
import type { Base } from './base.ts';
import { openCallBooks } from './call-books.ts';
import { openExports } from './exports.ts';
import type { Identity } from './open-identity.ts';
import type { Replicas } from './open-replicas.ts';
import { reRateDeps } from './re-rate.ts';

export type Ledger = Awaited<ReturnType<typeof openLedger>>;

/** @throws GatewayError store_unavailable */
export async function openLedger(
  { settings, log, stores, onTrouble }: Base,
  { directory, dialer, auditLog: { systemChanges } }: Identity,
  { source, ownPrices }: Replicas,
  onEntry: Parameters<typeof openCallBooks>[1]['onEntry'],
) {
  const { documents, feed } = stores;
  const store = stores.store.requestLog;
  const now = Date.now;
  const live = new LiveEntries();
  const told: typeof onEntry = (entry, call) => {
    live.tell(entry);
    onEntry?.(entry, call);
  };
  const callBooks = await openCallBooks(settings, { store, directory, ownPrices, onEntry: told }, log);
  const { flights, prices, counter } = callBooks;
  const mailer =
    settings.smtpUrl === undefined ? undefined : createMailer(settings.smtpUrl, settings.mailFrom);
  // Without Redis limits are counted here alone, and what must outlive a crash is in the data folder.
  // The lock of the embedded documents is that of the whole folder.
  const lazy = settings.mongodbUri === undefined;
  const state = stores.state ?? (await openMemoryState({ dataDir: settings.dataDir, lazy }));
  const groups = new Groups({ documents, now, onTrouble });
  const { alerts, close: closeAlerts } = await openBudgetAlerts({
    documents,
    directory,
    dialer,
    mailer,
    systemChanges,
    flushGroups: () => groups.flush(),
    state,
    source,
    now,
    onTrouble,
  });
  const limits = await openLimits({
    watch: alerts,
    flights,
    state,
    groups,
    store,
    prices,
    counter,
    leaseMs: settings.holdMs,
    source,
    organisations: () => directory.organisationIds(),
    now,
    onTrouble,
  });
  await callBooks.follow({ state, mark: limits.mark });
  const flush = async (): Promise<void> => {
    await limits.flush();
    await callBooks.flush();
  };
  const reRates = createReRateJobs({
    deps: () => reRateDeps({ log: store, state, documents, prices, systemChanges }),
    flush,
    onTrouble,
  });
  const { organisations } = source;
  const alone = settings.mongodbUri === undefined;
  const exports = await openExports({ stores, feed, documents, store, organisations, alone }, log);
  return {
    callBooks,
    live,
    limits,
    reRates,
    exports,
    mailer,
    state,
    flush,
    usage: new UsageReader({ state, alerts, now, onTrouble }),
    /** Ends work that no call waits for. */
    async endJobs() {
      await closeAlerts();
      await exports.close();
      await reRates.close();
    },
    async close() {
      await limits.close();
      // What the last calls crossed is written down, for the next start or another instance to send.
      await alerts.claimed();
      if (state !== stores.state) await state.close();
      await callBooks.close();
    },
  };
}
