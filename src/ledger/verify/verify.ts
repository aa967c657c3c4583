// Verifies that budgets match the entries of the request log, and corrects those that do not.
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestRecord } from '../../call/record.ts';
import type { LogBatch } from '../../store/maintenance.ts';
import type { SharedState } from '../../store/shared-state.ts';
import { type BudgetType, budgetNamed } from '../charged-budgets.ts';
import { MOST } from '../limits/rule.ts';

/** What it takes. */
export interface VerifyDeps {
  /** All entries, in batches. */
  readonly scan: (request: {
    readonly after?: string | undefined;
    readonly limit: number;
  }) => Promise<LogBatch>;
  readonly state: Pick<SharedState, 'readBudget' | 'correctBudget' | 'readJournal'>;
  /** As for re-rating: since when a budget counts its present total; undefined: its period is over. */
  readonly countsSince: (organisationId: string, key: string) => Promise<number | undefined>;
  /** Makes durable what ended before. */
  readonly flush: () => Promise<void>;
  /** Entries older than this may be dropped from the log, in Unix milliseconds. */
  readonly keptSince: number;
}

/** A budget and the sum of its entries. */
export interface ComparedBudget {
  readonly organisationId: string;
  readonly key: string;
  readonly type: BudgetType;
  readonly spent: bigint;
  readonly entries: bigint;
  /** `busy`: calls were charged to it all the time. `older`: the log does not reach back to its beginning. */
  readonly outcome: 'equal' | 'differs' | 'corrected' | 'busy' | 'older';
}

export interface Verified {
  /** Entries that were read. */
  readonly entries: number;
  /** All budgets of the present periods that some entry was charged to. */
  readonly budgets: readonly ComparedBudget[];
}

interface Sum {
  readonly type: BudgetType;
  readonly since: number | undefined;
  amount: bigint;
}

type Sums = Map<string, Map<string, Sum>>;

const BATCH = 1000;
/** How often a budget is read again that calls are charged to meanwhile. */
const TURNS = 5;
/** How long entries on their way are awaited. */
const JOURNAL_MS = 15_000;

/**
 * Compares, and with `rebuild` corrects.
 * @param organisationId one alone; undefined: all @throws GatewayError store_unavailable
 */
export async function verifyBudgets(
  deps: VerifyDeps,
  organisationId: string | undefined,
  rebuild: boolean,
): Promise<Verified> {
  await deps.flush();
  const sums: Sums = new Map();
  const { entries, oldest } = await addUp(deps, organisationId, sums);
  // A log whose oldest entry is younger than the retention time has dropped nothing.
  const keptSince = oldest > deps.keptSince ? 0 : deps.keptSince;
  const budgets: ComparedBudget[] = [];
  for (const [owner, own] of sums) {
    for (const [key, { type, amount, since }] of own) {
      if (since === undefined) continue;
      const { spent } = await deps.state.readBudget(owner, { key });
      const budget = { organisationId: owner, key, type, spent, entries: least(amount) };
      if (spent === budget.entries) budgets.push({ ...budget, outcome: 'equal' });
      else if (beganAt(key) < keptSince) budgets.push({ ...budget, outcome: 'older' });
      else budgets.push(await lookAgain(deps, budget, rebuild));
    }
  }
  return { entries, budgets };
}

/** Reads a budget before its entries and after: a charge in between makes the comparison void. */
async function lookAgain(
  deps: VerifyDeps,
  budget: Omit<ComparedBudget, 'outcome'>,
  rebuild: boolean,
): Promise<ComparedBudget> {
  const { organisationId, key } = budget;
  let now = budget;
  for (let turn = 0; turn < TURNS; turn++) {
    const before = await deps.state.readBudget(organisationId, { key });
    await deps.flush();
    if (!(await journalEmpty(deps, organisationId))) continue;
    const sums: Sums = new Map();
    await addUp(deps, organisationId, sums, key);
    const entries = least(sums.get(organisationId)?.get(key)?.amount ?? 0n);
    now = { ...budget, spent: before.spent, entries };
    const after = await deps.state.readBudget(organisationId, { key });
    if (after.spent !== before.spent) continue;
    if (entries === before.spent) return { ...now, outcome: 'equal' };
    if (!rebuild) return { ...now, outcome: 'differs' };
    const change = { key, from: before.spent, to: entries };
    const { corrected } = await deps.state.correctBudget(organisationId, change);
    if (corrected) return { ...now, outcome: 'corrected' };
  }
  return { ...now, outcome: 'busy' };
}

/** Whether all entries that were written with their charges have reached the log. */
async function journalEmpty({ state }: VerifyDeps, organisationId: string): Promise<boolean> {
  const end = performance.now() + JOURNAL_MS;
  while ((await state.readJournal(organisationId)).size > 0) {
    if (performance.now() > end) return false;
    await sleep(100);
  }
  return true;
}

async function addUp(
  { scan, countsSince }: VerifyDeps,
  organisationId: string | undefined,
  sums: Sums,
  only?: string,
): Promise<{ readonly entries: number; readonly oldest: number }> {
  let entries = 0;
  let oldest = Number.POSITIVE_INFINITY;
  const add = async (
    entry: RequestRecord,
    names: readonly string[] | undefined,
    of: Amounts,
  ): Promise<void> => {
    for (const name of names ?? []) {
      const { key, type } = budgetNamed(name);
      if (only !== undefined && key !== only) continue;
      const own = sums.get(entry.organisationId) ?? new Map<string, Sum>();
      sums.set(entry.organisationId, own);
      const sum = own.get(key) ?? { type, since: await countsSince(entry.organisationId, key), amount: 0n };
      own.set(key, sum);
      if (sum.since !== undefined && entry.createdAt >= sum.since) sum.amount += of[type];
    }
  };
  for (let after: string | undefined; ; ) {
    const batch = await scan({ after, limit: BATCH });
    for (const entry of batch.entries) {
      oldest = Math.min(oldest, entry.createdAt);
      if (organisationId !== undefined && entry.organisationId !== organisationId) continue;
      entries++;
      await add(entry, entry.budgets, amountsOf(entry));
      for (const attempt of entry.attempts)
        await add(entry, attempt.budgets, { ...usedBy([attempt]), requests: 1n });
    }
    after = batch.next;
    if (after === undefined) return { entries, oldest };
  }
}

type Amounts = Readonly<Record<BudgetType, bigint>>;

function amountsOf(entry: RequestRecord): Amounts {
  const { attempts, outcome } = entry;
  // A call that failed before any attempt is no request of a budget.
  return { ...usedBy(attempts), requests: attempts.length > 0 || outcome === 'success' ? 1n : 0n };
}

function usedBy(attempts: RequestRecord['attempts']): Omit<Amounts, 'requests'> {
  let cost = 0n;
  let tokens = 0n;
  for (const attempt of attempts) {
    cost += BigInt(attempt.cost ?? 0);
    tokens += BigInt(attempt.usage?.totalTokens ?? 0);
  }
  return { cost, tokens };
}

/** When a budget's present period began, as its key says; 0: unknown. */
function beganAt(key: string): number {
  const [since, start] = key.slice(key.lastIndexOf(':') + 1).split('.');
  return Math.max(Number(since) || 0, Number(start) || 0);
}

function least(amount: bigint): bigint {
  return amount < MOST ? amount : MOST;
}
