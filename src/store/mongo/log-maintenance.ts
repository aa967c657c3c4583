// The request log as a whole, over MongoDB.
import type mongoose from 'mongoose';
import type { LogMaintenance } from '../maintenance.ts';
import { checkScan } from '../maintenance-checks.ts';
import type { RequestRecord } from '../request-log.ts';
import type { Calls } from './calls.ts';
import { areDuplicateKeys } from './failures.ts';
import { rowsOf } from './request-log-batch.ts';
import { type LogRow, logModel } from './request-log-schema.ts';
import { behind, cursorOptions, type Placed, POSITION, readRows } from './scan.ts';
import { MAJORITY } from './transaction.ts';

export function mongoLogMaintenance(connection: mongoose.Connection, calls: Calls): LogMaintenance {
  const { collection } = logModel(connection);
  return {
    scan: async (request) => {
      const checked = checkScan(request, POSITION);
      return calls.run(async (deadline) => {
        const cursor = collection.find<LogRow & Placed>(behind(checked), cursorOptions(checked, deadline));
        const { rows, next } = await readRows(cursor, ({ entry }) => entry.length);
        return { entries: rows.map(({ entry }) => JSON.parse(entry) as RequestRecord), ...next };
      });
    },

    importEntries: async (entries) => {
      if (entries.length === 0) return;
      const rows = await rowsOf(entries);
      await calls.run(async (deadline) => {
        const bound = { ordered: false, maxTimeMS: deadline.remaining(), writeConcern: MAJORITY };
        try {
          await collection.insertMany(
            rows.map((row) => ({ ...row })),
            bound,
          );
        } catch (error) {
          // Those that are there already.
          if (!areDuplicateKeys(error)) throw error;
        }
      });
    },
  };
}
