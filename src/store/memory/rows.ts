// The rows that several scripts read and write: budgets, holds, slots.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { BudgetPool } from '../shared/admit.ts';
import type { TakenItem } from '../state-transfer.ts';

export interface HoldRow {
  readonly owner: string;
  readonly expiresAt: number;
  readonly settled: boolean;
  readonly note: string;
  readonly items: readonly TakenItem[];
}

export interface Budget {
  readonly spent: bigint;
  readonly held: bigint;
  /** Unix milliseconds; undefined: never expires. */
  readonly keepUntil: number | undefined;
}

/** Where a budget is counted that may belong to a pool. */
export interface BudgetPlace {
  readonly key: string;
  /** As it is there. */
  readonly budget: Budget | undefined;
  /** It becomes one of the pool, which has so many. */
  readonly joins: bigint | undefined;
}

export interface StateRows {
  /** Undefined: nothing is spent or held. */
  budget(org: string, key: string): Budget | undefined;
  /** The budget itself; where its pool has as many as it may, that of all others. */
  place(org: string, key: string, pool: BudgetPool | undefined): BudgetPlace;
  setBudget(org: string, key: string, budget: Budget): void;
  hold(org: string, id: string): HoldRow | undefined;
  /** What a hold took; 'settled' when it was. */
  taken(org: string, id: string): readonly TakenItem[] | 'settled' | undefined;
  addHold(org: string, id: string, hold: Omit<HoldRow, 'settled'>): void;
  /** A new lease of an open hold. */
  moveHold(org: string, id: string, owner: string, expiresAt: number): void;
  settleHold(org: string, id: string, forgetAt: number): void;
  /** Ids of open holds that expired, the longest expired first. */
  expired(org: string, ms: number, max: number): string[];
  liveSlots(org: string, key: string, ms: number): number;
  setSlot(org: string, key: string, id: string, expiresAt: number): void;
  freeSlot(org: string, key: string, id: string): void;
}

/** Prepares a statement whose rows come as arrays. */
export function arrays(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}

export function stateRows(database: DatabaseSync): StateRows {
  const getBudget = arrays(database, 'SELECT spent, held, keep_until FROM budgets WHERE org = ? AND key = ?');
  const putBudget = database.prepare(
    `INSERT INTO budgets (org, key, spent, held, keep_until) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET spent = excluded.spent, held = excluded.held, keep_until = excluded.keep_until`,
  );
  const getHold = arrays(
    database,
    'SELECT owner, expires_at, forget_at, note, items FROM holds WHERE org = ? AND id = ?',
  );
  const getTaken = arrays(database, 'SELECT forget_at, items FROM holds WHERE org = ? AND id = ?');
  const putHold = database.prepare(
    'INSERT INTO holds (org, id, owner, expires_at, note, items) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const moveHold = database.prepare('UPDATE holds SET owner = ?, expires_at = ? WHERE org = ? AND id = ?');
  const settleHold = database.prepare(
    `INSERT INTO holds (org, id, owner, expires_at, forget_at, note, items) VALUES (?, ?, '', 0, ?, '', '')
     ON CONFLICT DO UPDATE SET forget_at = excluded.forget_at, note = '', items = ''`,
  );
  const expired = arrays(
    database,
    `SELECT id FROM holds WHERE org = ? AND expires_at <= ? AND forget_at IS NULL
     ORDER BY expires_at, id LIMIT ?`,
  );
  const liveSlots = arrays(
    database,
    'SELECT count(*) FROM slots WHERE org = ? AND key = ? AND expires_at > ?',
  );
  const putSlot = database.prepare(
    `INSERT INTO slots (org, key, id, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at`,
  );
  const freeSlot = database.prepare('DELETE FROM slots WHERE org = ? AND key = ? AND id = ?');

  const readBudget = (org: string, key: string): Budget | undefined => {
    const row = getBudget.get(org, key) as unknown as [string, string, number | null] | undefined;
    if (row === undefined) return undefined;
    return { spent: BigInt(row[0]), held: BigInt(row[1]), keepUntil: row[2] ?? undefined };
  };

  return {
    budget: readBudget,
    place: (org, key, pool) => {
      const budget = readBudget(org, key);
      if (budget !== undefined || pool === undefined) return { key, budget, joins: undefined };
      const size = readBudget(org, pool.key)?.spent ?? 0n;
      if (size < BigInt(pool.most)) return { key, budget, joins: size };
      return { key: pool.others, budget: readBudget(org, pool.others), joins: undefined };
    },
    setBudget: (org, key, { spent, held, keepUntil }) => {
      putBudget.run(org, key, spent.toString(), held.toString(), keepUntil ?? null);
    },
    hold: (org, id) => {
      const row = getHold.get(org, id) as unknown as
        | [string, number, number | null, string, string]
        | undefined;
      if (row === undefined) return undefined;
      const [owner, expiresAt, forgetAt, note, items] = row;
      const settled = forgetAt !== null;
      return { owner, expiresAt, settled, note, items: settled ? [] : (JSON.parse(items) as TakenItem[]) };
    },
    taken: (org, id) => {
      const row = getTaken.get(org, id) as unknown as [number | null, string] | undefined;
      if (row === undefined) return undefined;
      return row[0] === null ? (JSON.parse(row[1]) as TakenItem[]) : 'settled';
    },
    addHold: (org, id, { owner, expiresAt, note, items }) => {
      putHold.run(org, id, owner, expiresAt, note, JSON.stringify(items));
    },
    moveHold: (org, id, owner, expiresAt) => {
      moveHold.run(owner, expiresAt, org, id);
    },
    settleHold: (org, id, forgetAt) => {
      settleHold.run(org, id, forgetAt);
    },
    expired: (org, ms, max) => (expired.all(org, ms, max) as unknown as [string][]).map(([id]) => id),
    liveSlots: (org, key, ms) => Number((liveSlots.get(org, key, ms) as unknown as [number])[0]),
    setSlot: (org, key, id, expiresAt) => {
      putSlot.run(org, key, id, expiresAt);
    },
    freeSlot: (org, key, id) => {
      freeSlot.run(org, key, id);
    },
  };
}
