// The rows of a data directory's state.db, for a command that carries them elsewhere while no gateway has it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fail } from '../../lib/errors.ts';
import type { StateRow, StateSource, TakenItem } from '../state-transfer.ts';
import { createStateTables } from './schema.ts';

export interface StateExport extends StateSource {
  close(): void;
}

/** Rows and characters of one batch. */
const ROWS = 200;
const CHARACTERS = 2 * 1024 * 1024;

/**
 * Undefined when the directory has no state. Throws `store_unavailable`, naming the directory, when another process
 * has it, when it cannot be read, or when a newer version of the program wrote it.
 */
export function openStateExport(dataDir: string): StateExport | undefined {
  const path = join(dataDir, 'state.db');
  if (!existsSync(path)) return undefined;
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Opened as the gateway does: a second process is refused.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;');
    createStateTables(database);
  } catch (cause) {
    database.close();
    const why = cause instanceof Error ? cause.message : '';
    throw fail(
      'store_unavailable',
      /locked/.test(why)
        ? `the shared state in ${dataDir} is in use by another process`
        : `the shared state in ${dataDir} cannot be opened: ${why}`,
      { cause },
    );
  }
  return {
    rows: () => batchesOf(database),
    close: () => {
      if (database.isOpen) database.close();
    },
  };
}

type Row = Record<string, string | number | null>;

const text = (value: Row[string] | undefined): string => String(value);
const number = (value: Row[string] | undefined): number => Number(value);

/** Each kind: where its rows are, and what they say. */
const KINDS: readonly { readonly sql: string; readonly rowOf: (row: Row) => StateRow }[] = [
  {
    sql: 'SELECT org, key, spent, held, keep_until FROM budgets ORDER BY org, key',
    rowOf: ({ org, key, spent, held, keep_until }) => ({
      kind: 'budget',
      org: text(org),
      key: text(key),
      spent: text(spent),
      held: text(held),
      ...(keep_until === null ? {} : { keepUntil: number(keep_until) }),
    }),
  },
  {
    sql: 'SELECT org, id, owner, expires_at, forget_at, note, items FROM holds ORDER BY org, id',
    rowOf: ({ org, id, owner, expires_at, forget_at, note, items }) =>
      forget_at === null
        ? {
            kind: 'hold',
            org: text(org),
            id: text(id),
            owner: text(owner),
            note: text(note),
            expiresAt: number(expires_at),
            items: JSON.parse(text(items)) as TakenItem[],
          }
        : { kind: 'settled', org: text(org), id: text(id), forgetAt: number(forget_at) },
  },
  {
    sql: 'SELECT org, key, id, expires_at FROM slots ORDER BY org, key, id',
    rowOf: ({ org, key, id, expires_at }) => ({
      kind: 'slot',
      org: text(org),
      key: text(key),
      id: text(id),
      expiresAt: number(expires_at),
    }),
  },
  {
    sql: 'SELECT org, seq, id, made_at, data, consumer, lease_until FROM journal ORDER BY org, seq',
    rowOf: ({ org, seq, id, made_at, data, consumer, lease_until }) => ({
      kind: 'journal',
      org: text(org),
      seq: number(seq),
      id: text(id),
      madeAt: number(made_at),
      data: text(data),
      ...(lease_until === null ? {} : { claim: { consumer: text(consumer), until: number(lease_until) } }),
    }),
  },
  {
    sql: 'SELECT org, tail, claimed_to FROM journal_heads ORDER BY org',
    rowOf: ({ org, tail, claimed_to }) => ({
      kind: 'journal_head',
      org: text(org),
      tail: number(tail),
      claimedTo: number(claimed_to),
    }),
  },
  {
    sql: 'SELECT org, id, forget_at FROM journal_ids ORDER BY org, id',
    rowOf: ({ org, id, forget_at }) => ({
      kind: 'journal_id',
      org: text(org),
      id: text(id),
      forgetAt: number(forget_at),
    }),
  },
  {
    sql: 'SELECT org, key, version, value FROM vals ORDER BY org, key',
    rowOf: ({ org, key, version, value }) => ({
      kind: 'value',
      org: text(org),
      key: text(key),
      version: number(version),
      ...(value === null ? {} : { value: text(value) }),
    }),
  },
];

async function* batchesOf(database: DatabaseSync): AsyncGenerator<readonly StateRow[]> {
  for (const { sql, rowOf } of KINDS) {
    let batch: StateRow[] = [];
    let length = 0;
    for (const row of database.prepare(sql).iterate() as unknown as Iterable<Row>) {
      batch.push(rowOf(row));
      length += text(row.data ?? row.value ?? row.items ?? '').length;
      if (batch.length < ROWS && length < CHARACTERS) continue;
      yield batch;
      batch = [];
      length = 0;
    }
    if (batch.length > 0) yield batch;
  }
}
