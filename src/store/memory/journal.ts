// The journal's scripts in TypeScript, over rows.
import type { DatabaseSync } from 'node:sqlite';
import type { ClaimedEntry, JournalEntry, OwnEntry } from '../shared/journal.ts';
import type { Body } from './call.ts';
import type { Moment } from './moment.ts';
import { arrays } from './rows.ts';

/** What admit and settle need of it. */
export interface JournalRows {
  size(org: string): number;
  /** Answers its number. */
  append(org: string, entry: OwnEntry, at: Moment): number;
}

interface Bodies {
  readonly rows: JournalRows;
  readonly append: Body<'appendJournal'>;
  readonly claim: Body<'claimJournal'>;
  readonly acknowledge: Body<'acknowledgeJournal'>;
  readonly read: Body<'readJournal'>;
}

type EntryRow = [seq: number, id: string, data: string];

export function journalBodies(database: DatabaseSync): Bodies {
  const getSize = arrays(database, 'SELECT size, claimed FROM journal_heads WHERE org = ?');
  const bump = arrays(
    database,
    `INSERT INTO journal_heads (org, tail, claimed_to, size, claimed) VALUES (?1, 1, 0, 1, ?2)
     ON CONFLICT DO UPDATE SET tail = tail + 1, size = size + 1, claimed = claimed + ?2 RETURNING tail`,
  );
  const insert = database.prepare(
    `INSERT INTO journal (org, seq, id, made_at, data, consumer, lease_until) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const known = arrays(database, 'SELECT 1 FROM journal_ids WHERE org = ? AND id = ?');
  const remember = database.prepare('INSERT INTO journal_ids (org, id, forget_at) VALUES (?, ?, ?)');
  const expired = arrays(
    database,
    `SELECT seq, id, data FROM journal WHERE org = ? AND lease_until <= ? ORDER BY lease_until, seq LIMIT ?`,
  );
  const fresh = arrays(
    database,
    `SELECT seq, id, data FROM journal
     WHERE org = ?1 AND seq > (SELECT claimed_to FROM journal_heads WHERE org = ?1) AND lease_until IS NULL
     ORDER BY seq LIMIT ?2`,
  );
  const lease = database.prepare(
    'UPDATE journal SET consumer = ?, lease_until = ? WHERE org = ? AND seq = ?',
  );
  // Entries that were never claimed are consecutive.
  const leaseFresh = database.prepare(
    `UPDATE journal SET consumer = ?1, lease_until = ?2
     WHERE org = ?3 AND seq > (SELECT claimed_to FROM journal_heads WHERE org = ?3) AND seq <= ?4
       AND lease_until IS NULL`,
  );
  const advance = database.prepare(
    'UPDATE journal_heads SET claimed_to = ?, claimed = claimed + ? WHERE org = ?',
  );
  const remove = database.prepare('DELETE FROM journal WHERE org = ? AND seq = ? AND consumer = ?');
  const shrink = database.prepare(
    'UPDATE journal_heads SET size = size - ?1, claimed = claimed - ?1 WHERE org = ?2',
  );
  const oldest = arrays(database, 'SELECT made_at FROM journal WHERE org = ? ORDER BY seq LIMIT 1');

  const head = (org: string): [size: number, claimed: number] =>
    (getSize.get(org) as unknown as [number, number] | undefined) ?? [0, 0];

  function append(org: string, { id, data, claim }: OwnEntry, at: Moment): number {
    const [tail] = bump.get(org, claim === undefined ? 0 : 1) as unknown as [number];
    const until = claim === undefined ? null : at.ms + claim.leaseMs;
    insert.run(org, tail, id, at.ms, data, claim?.consumer ?? null, until);
    return tail;
  }

  return {
    rows: { size: (org) => head(org)[0], append },

    append: (org, { entries, maxLength }, at) => {
      const ids = new Map<string, JournalEntry>();
      for (const entry of entries) {
        if (!ids.has(entry.id) && known.get(org, entry.id) === undefined) ids.set(entry.id, entry);
      }
      const [size] = head(org);
      if (size + ids.size > maxLength) return { accepted: false, repeated: 0, size };
      for (const entry of ids.values()) {
        remember.run(org, entry.id, at.forgetAt);
        append(org, entry, at);
      }
      return { accepted: true, repeated: entries.length - ids.size, size: size + ids.size };
    },

    claim: (org, { consumer, leaseMs, max }, at) => {
      const again = expired.all(org, at.ms, max) as unknown as EntryRow[];
      const missing = max - again.length;
      const first = missing > 0 ? (fresh.all(org, missing) as unknown as EntryRow[]) : [];
      const last = first.at(-1);
      for (const [seq] of again) lease.run(consumer, at.ms + leaseMs, org, seq);
      if (last !== undefined) {
        leaseFresh.run(consumer, at.ms + leaseMs, org, last[0]);
        advance.run(last[0], first.length, org);
      }
      return [...again, ...first].map(([seq, id, data]): ClaimedEntry => ({ seq: String(seq), id, data }));
    },

    acknowledge: (org, { consumer, seqs }) => {
      let done = 0;
      for (const seq of seqs) done += Number(remove.run(org, Number(seq), consumer).changes);
      if (done > 0) shrink.run(done, org);
      return done;
    },

    read: (org, _, at) => {
      const [size, claimed] = head(org);
      const first = oldest.get(org) as unknown as [number] | undefined;
      return { size, claimed, lagMs: first === undefined ? 0 : Math.max(0, at.ms - first[0]) };
    },
  };
}
