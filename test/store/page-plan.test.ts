// Every declared sort and filter walks an index: no scan of a table, no sort of what is skipped.
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import test from 'ava';
import type { PageQuery } from '../../src/store/documents.ts';
import { checkPageQuery } from '../../src/store/page-query.ts';
import { createCollection } from '../../src/store/sqlite/document-schema.ts';
import { countQuery, pageQuery } from '../../src/store/sqlite/page-sql.ts';
import type { PageCall } from '../../src/store/sqlite/protocol.ts';
import { widgets } from './documents.contract.ts';

const database = new DatabaseSync(':memory:');
createCollection(database, widgets);

function planOf(sql: string, values: readonly SQLInputValue[]): string {
  return database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...values)
    .map((row) => String(row.detail))
    .join('\n');
}

function callOf(query: Partial<PageQuery>, workspace: string | null): PageCall {
  return { ...checkPageQuery(widgets, { pageSize: 10, ...query }), kind: 'page', c: 0, org: 'o', workspace };
}

for (const field of widgets.sortable) {
  for (const order of ['asc', 'desc'] as const) {
    for (const status of ['active', 'all'] as const) {
      test(`sorted by ${field} ${order}, ${status}`, (t) => {
        for (const workspace of [null, 'w']) {
          const { sql, values } = pageQuery(widgets, callOf({ sort: { field, order }, status }, workspace));
          const plan = planOf(sql, values);
          t.regex(plan, /COVERING INDEX/);
          t.notRegex(plan, /TEMP B-TREE|SCAN c_widgets/, `${sql}\n${plan}`);
        }
      });
    }
  }
}

test('filters search an index', (t) => {
  for (const field of ['name', 'size', 'weight', 'ownerMail', 'shared']) {
    const value = field === 'name' || field === 'ownerMail' ? 'x' : 1;
    for (const query of [countQuery, pageQuery]) {
      const { sql, values } = query(widgets, callOf({ filter: [{ field, op: 'eq', value }] }, null));
      const plan = planOf(sql, values);
      t.notRegex(plan, /SCAN c_widgets/);
      t.regex(
        plan,
        new RegExp(`INDEX c_widgets__\\w+ \\(organisation_id=\\? AND archived=\\? AND f_${field}=\\?`),
        plan,
      );
    }
  }
});
