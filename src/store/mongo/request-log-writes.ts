// Appending to the request log: all of a batch or nothing, each entry once.
import type mongoose from 'mongoose';
import type { Deadline } from './calls.ts';
import { isDuplicateKey } from './failures.ts';
import { queryOf, tenantFilter } from './page-filter.ts';
import { LOG_KEY_INDEX, type LogModel, type LogRow } from './request-log-schema.ts';
import { inTransaction } from './transaction.ts';

/** Stores a batch's rows that are not stored yet. Looks which those are only when a first try says that some are. */
export async function appendRows(
  connection: mongoose.Connection,
  model: LogModel,
  rows: readonly LogRow[],
  deadline: Deadline,
): Promise<void> {
  let missing = rows;
  for (let attempt = 0; missing.length > 0; attempt++) {
    try {
      const batch = missing;
      await inTransaction(connection, deadline, (session) =>
        model.insertMany(batch, { session, lean: true }),
      );
      return;
    } catch (error) {
      // Another try of the same batch may be under way: then this one finds its rows the next time.
      if (!isDuplicateKey(error) || !(await deadline.backOff(attempt))) throw error;
      missing = await absent(model, missing, deadline);
    }
  }
}

/** The rows whose key is not stored. */
async function absent(model: LogModel, rows: readonly LogRow[], deadline: Deadline): Promise<LogRow[]> {
  const stored = new Set<string>();
  for (const [organisationId, own] of Map.groupBy(rows, (row) => row.organisationId)) {
    const filter = {
      ...tenantFilter(organisationId, null),
      createdAt: { $in: [...new Set(own.map((row) => row.createdAt))] },
      id: { $in: own.map((row) => row.id) },
    };
    const found = await model
      .find(queryOf<LogRow>(filter), { _id: 0, organisationId: 1, createdAt: 1, id: 1 })
      .hint(LOG_KEY_INDEX)
      .maxTimeMS(deadline.remaining())
      .lean<Pick<LogRow, 'organisationId' | 'createdAt' | 'id'>[]>();
    for (const row of found) stored.add(keyOf(row));
  }
  return rows.filter((row) => !stored.has(keyOf(row)));
}

function keyOf({
  organisationId,
  createdAt,
  id,
}: Pick<LogRow, 'organisationId' | 'createdAt' | 'id'>): string {
  return JSON.stringify([organisationId, createdAt, id]);
}
