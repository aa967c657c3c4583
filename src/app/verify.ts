// `sluice ledger verify`, put together: over the stores of a gateway that runs, or of the command itself.

import { organisationIds } from '../access/organisation-ids.ts';
import { type ComparedBudget, verifyBudgets } from '../ledger/verify/verify.ts';
import { verifyRollups } from '../ledger/verify/verify-rollups.ts';
import { callControl, controlPath } from '../lib/control-socket.ts';
import { progressOf } from '../lib/progress.ts';
import type { Settings } from '../settings.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { LogStore } from '../store/log-store.ts';
import type { DocumentMaintenance, LogMaintenance } from '../store/maintenance.ts';
import { openMemoryState } from '../store/memory/open-memory.ts';
import type { SharedState } from '../store/shared-state.ts';
import { budgetStanding } from './budget-standing.ts';
import { openStores } from './stores.ts';

export interface VerifyParts {
  readonly logMaintenance: LogMaintenance;
  readonly requestLog: LogStore;
  readonly maintenance: DocumentMaintenance;
  readonly state: SharedState;
  readonly documents: DocumentStore;
  /** Days that entries are kept. */
  readonly logDays: number;
  readonly flush: () => Promise<void>;
  readonly say: (line: string) => void;
}

export interface VerifyOrder {
  readonly organisationId?: string;
  readonly rebuild: boolean;
}

const DAY_MS = 86_400_000;

/** Says what differs; whether nothing does any more. What else is derived from entries is compared here as well. */
export async function verifyLedger(parts: VerifyParts, order: VerifyOrder): Promise<boolean> {
  const { say, state, documents, flush, logDays } = parts;
  const { entries, budgets } = await verifyBudgets(
    {
      state,
      flush,
      scan: (request) => parts.logMaintenance.scan(request),
      countsSince: budgetStanding(documents, Date.now),
      keptSince: Date.now() - logDays * DAY_MS,
    },
    order.organisationId,
    order.rebuild,
  );
  for (const budget of budgets) if (budget.outcome !== 'equal') say(lineOf(budget));
  const count = (outcome: ComparedBudget['outcome']): number =>
    budgets.filter((budget) => budget.outcome === outcome).length;
  const different = await verifiedRollups(parts, order);
  say(
    `${entries} entries; ${budgets.length} budgets: ${count('equal')} equal, ${count('corrected')} corrected, ` +
      `${count('differs')} different, ${count('busy')} charged all the time, ${count('older')} older than the log`,
  );
  return count('differs') + count('busy') + different === 0;
}

/** Compares the roll-ups, and rebuilds those that differ when told to; returns how many still differ. */
async function verifiedRollups(parts: VerifyParts, order: VerifyOrder): Promise<number> {
  const { say, logDays, requestLog: store } = parts;
  const organisations =
    order.organisationId === undefined ? await organisationIds(parts.maintenance) : [order.organisationId];
  const compare = () => verifyRollups({ store, organisations, logDays, now: Date.now() });
  const { days, different } = await compare();
  const told = progressOf('roll-ups of days', say, different.length);
  for (const [i, { organisationId, day, sums, entries }] of different.entries()) {
    const date = new Date(day).toISOString().slice(0, 10);
    say(`differs: ${organisationId} sums of ${date}: ${sums}, entries ${entries} (1e-12 USD)`);
    if (order.rebuild) await parts.logMaintenance.remakeRollups(organisationId, day);
    told(i + 1);
  }
  const left = order.rebuild && different.length > 0 ? (await compare()).different : different;
  const corrected = different.length - left.length;
  say(`${days} days with sums kept beside their entries: ${corrected} corrected, ${left.length} different`);
  return left.length;
}

function lineOf({ organisationId, key, type, spent, entries, outcome }: ComparedBudget): string {
  const unit = type === 'cost' ? '1e-12 USD' : type;
  return `${outcome}: ${organisationId} ${key}: spent ${spent}, entries ${entries} (${unit})`;
}

/** The order as the command line or the control socket carries it. */
export function readVerifyOrder(given: Readonly<Record<string, unknown>>): VerifyOrder {
  const { organisation, rebuild } = given;
  return {
    rebuild: rebuild === true,
    ...(typeof organisation === 'string' ? { organisationId: organisation } : {}),
  };
}

/** By the gateway that has the data folder open, else over the stores. Resolves with whether nothing differs. */
export async function verifyCommand(
  settings: Settings,
  given: Readonly<Record<string, unknown>>,
  say: (line: string) => void,
): Promise<boolean> {
  if (settings.mongodbUri === undefined) {
    const done = await callControl(controlPath(settings.dataDir), 'verify', say, given);
    if (done !== undefined) return done;
  }
  const stores = await openStores(settings);
  const { store, documents } = stores;
  const own = stores.state === undefined ? await openMemoryState({ dataDir: settings.dataDir }) : undefined;
  try {
    const state = stores.state ?? (own as SharedState);
    const { logMaintenance, requestLog, maintenance } = store;
    const { logDays } = settings;
    const parts = {
      logMaintenance,
      requestLog,
      maintenance,
      state,
      documents,
      logDays,
      say,
      flush: async () => {},
    };
    return await verifyLedger(parts, readVerifyOrder(given));
  } finally {
    await own?.close();
    await stores.close();
  }
}
