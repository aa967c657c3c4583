// Values in TypeScript, over rows. A removed one keeps its version.
import type { DatabaseSync } from 'node:sqlite';
import type { Value } from '../shared/value.ts';
import type { Body } from './call.ts';
import { arrays } from './rows.ts';

export function valueBodies(database: DatabaseSync): {
  readonly read: Body<'readValue'>;
  readonly write: Body<'writeValue'>;
} {
  const get = arrays(database, 'SELECT version, value FROM vals WHERE org = ? AND key = ?');
  const put = database.prepare(
    `INSERT INTO vals (org, key, version, value) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET version = excluded.version, value = excluded.value`,
  );

  function read(org: string, key: string): Value {
    const [version, value] = (get.get(org, key) as unknown as [number, string | null] | undefined) ?? [
      0,
      null,
    ];
    return { version, value: value ?? undefined };
  }

  return {
    read: (org, { key }) => read(org, key),
    write: (org, { key, version, value }) => {
      const there = read(org, key);
      if (there.version !== version) return { ...there, written: false };
      put.run(org, key, version + 1, value ?? null);
      return { version: version + 1, value, written: true };
    },
  };
}
