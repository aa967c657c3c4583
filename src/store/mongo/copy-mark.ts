// A mark that a copy into the database is under way. Until the copy is whole no gateway may take it for the data.
import type mongoose from 'mongoose';
import { fail } from '../../lib/errors.ts';
import { recordsOf } from './schema-versions.ts';
import { MAJORITY } from './transaction.ts';

/** With a dot, which no collection's name has. */
const MARK = '.copy';

export interface CopyMark {
  /** Whether a copy was begun and not ended. */
  read(): Promise<boolean>;
  begin(): Promise<void>;
  end(): Promise<void>;
}

export function copyMark(connection: mongoose.Connection): CopyMark {
  const records = recordsOf(connection);
  return {
    read: async () => (await records.findOne({ _id: MARK })) !== null,
    begin: async () => {
      const only = { upsert: true, writeConcern: MAJORITY };
      await records.updateOne({ _id: MARK }, { $setOnInsert: { fields: [] } }, only);
    },
    end: async () => {
      await records.deleteOne({ _id: MARK }, { writeConcern: MAJORITY });
    },
  };
}

/** Throws `store_unavailable` while a copy is not whole. */
export async function refuseHalfCopied(connection: mongoose.Connection): Promise<void> {
  if (!(await copyMark(connection).read())) return;
  throw fail(
    'store_unavailable',
    'a copy into the database of MONGODB_URI is not finished: run "sluice migrate --from" with the same folder again',
  );
}
