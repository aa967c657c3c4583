// `sluice ledger re-rate`, put together: over the stores of a gateway that runs, or of the command itself.

import { randomUUID } from 'node:crypto';
import type { SystemChanges } from '../access/audit/system-changes.ts';
import { inDollars } from '../ledger/prices/dollars.ts';
import type { PriceList } from '../ledger/prices/price-list.ts';
import { type ReRateDeps, reRate } from '../ledger/re-rate/re-rate.ts';
import type { ReRateBody, ReRateSpan } from '../ledger/re-rate/run.ts';
import { progressOf } from '../lib/progress.ts';
import type { JsonObject } from '../store/collection.ts';
import type { DocumentStore } from '../store/documents.ts';
import { countedEntries } from '../store/log/entry-count.ts';
import type { LogStore } from '../store/log-store.ts';
import type { SharedState } from '../store/shared-state.ts';
import { budgetStanding } from './budget-standing.ts';

/** What is asked. */
export interface ReRateOrder extends ReRateSpan {
  /** Undefined: all of them. */
  readonly organisationId?: string;
  readonly dryRun: boolean;
}

/** What it takes. */
export interface ReRateParts {
  readonly log: LogStore;
  readonly state: SharedState;
  readonly documents: DocumentStore;
  readonly prices: PriceList;
  readonly systemChanges: SystemChanges;
  readonly organisations: () => Iterable<string> | Promise<Iterable<string>>;
  /** Makes durable what was recorded so far. */
  readonly flush: () => Promise<void>;
  /** One line for people. */
  readonly say: (line: string) => void;
}

/** What a run takes, but for its owner. */
export function reRateDeps(
  parts: Pick<ReRateParts, 'log' | 'state' | 'documents' | 'prices' | 'systemChanges'>,
): Omit<ReRateDeps, 'owner'> {
  return {
    log: parts.log,
    state: parts.state,
    documents: parts.documents,
    prices: parts.prices,
    now: Date.now,
    countsSince: budgetStanding(parts.documents, Date.now),
    finish: finisher(parts.systemChanges),
  };
}

/** Re-rates every organisation that is meant. @throws Error naming an organisation that is not there */
export async function reRateAll(
  parts: ReRateParts,
  { organisationId, dryRun, ...span }: ReRateOrder,
  signal?: AbortSignal,
): Promise<void> {
  const { say } = parts;
  await parts.flush();
  const all = [...(await parts.organisations())];
  const meant = organisationId === undefined ? all : all.filter((id) => id === organisationId);
  if (meant.length === 0) throw new Error(`there is no organisation ${organisationId ?? ''}`);
  for (const [i, id] of meant.entries()) {
    const deps = { ...reRateDeps(parts), owner: randomUUID() };
    const which = meant.length === 1 ? 'entries' : `entries of organisation ${i + 1} of ${meant.length}`;
    const total = await countedEntries(parts.log, id, { from: span.from, until: span.until });
    const told = progressOf(which, say, total);
    const { entries, changed, before, after, budgets } = await reRate(
      deps,
      id,
      span,
      dryRun,
      signal,
      async ({ read }) => told(read),
    );
    const verb = dryRun ? 'would change' : 'changed';
    const [was, is] = [inDollars(before), inDollars(after)];
    say(`${id}: ${changed} of ${entries} entries ${verb}, from $${was} to $${is}; ${budgets} budgets`);
  }
}

/** A run is recorded in the audit log: its end and the entry are one commit. */
function finisher(systemChanges: SystemChanges) {
  return (
    organisationId: string,
    run: ReRateBody,
    operation: Parameters<SystemChanges['commit']>[2][number],
  ) => {
    const { from, until, model, totals } = run;
    const span = {
      from: new Date(from).toISOString(),
      until: new Date(until).toISOString(),
      ...(model === undefined ? {} : { model }),
    };
    return systemChanges.commit(
      { verb: 're-rate', resource: 'request-log', detail: 'costs by the prices as they are now' },
      { organisationId, workspaceId: undefined },
      [operation],
      {
        id: organisationId,
        name: '',
        before: { ...span, cost: inDollars(BigInt(totals.before)) } as JsonObject,
        after: { ...span, cost: inDollars(BigInt(totals.after)), entries: totals.changed } as JsonObject,
      },
    );
  };
}

/** The order as the command line or the control socket carries it. @throws Error naming what is wrong */
export function readReRateOrder(given: Readonly<Record<string, unknown>>, now: number): ReRateOrder {
  const from = time('from', given.from);
  const until = given.to === undefined ? now - RECENT_MS : time('to', given.to);
  if (from >= until) throw new Error('--from: must be before --to');
  if (until > now) throw new Error('--to: must not be in the future');
  const { organisation, model } = given;
  return {
    from,
    until,
    dryRun: given['dry-run'] === true,
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof organisation === 'string' ? { organisationId: organisation } : {}),
  };
}

/** Entries of calls that have just ended may be on their way to the log. */
const RECENT_MS = 60_000;

function time(name: string, given: unknown): number {
  const ms = typeof given === 'string' ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(ms)) throw new Error(`--${name}: must be a time such as 2027-01-31T00:00:00Z`);
  return ms;
}
