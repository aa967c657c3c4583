// Every declared sort and filter walks an index: no scan of a table, no sort of what is skipped.
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import test from 'ava';
import type { PageQuery } from '../../src/store/documents.ts';
import { checkPageQuery } from '../../src/store/page-query.ts';
import { createCollection } from '../../src/store/sqlite/document-schema.ts';
import { countQuery, pageQuery } from '../../src/store/sqlite/page-sql.ts';
import type { LogPageCall, PageCall } from '../../src/store/sqlite/protocol.ts';
import { logReader } from '../../src/store/sqlite/request-log-reads.ts';
import { createLogTables } from '../../src/store/sqlite/request-log-schema.ts';
import { widgets } from './documents.contract.ts';

const database = new DatabaseSync(':memory:');
createCollection(database, widgets);
createLogTables(database);

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

test('pages of the request log walk their index in order', (t) => {
  const plans: string[] = [];
  database.exec(`INSERT INTO log_scopes (organisation_id, workspace_id) VALUES ('o', ''), ('o', 'w')`);
  const read = logReader((sql) => {
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    if (sql.includes('OFFSET')) plans.push(planOf(sql, Array(sql.split('?').length - 1).fill(1)));
    return statement;
  });
  const page = (filter: LogPageCall['filter'], workspace: string | null): void => {
    for (const order of ['asc', 'desc'] as const) {
      read({ kind: 'log', org: 'o', workspace, filter, order, skip: 0, take: 10 });
    }
  };
  for (const workspace of [null, 'w']) {
    page({}, workspace);
    page({ from: 1, until: 2, statusCodes: [200, 404] }, workspace);
    page({ statusCodes: [404] }, workspace);
    page({ statusCodes: [404, 429, 500] }, workspace);
  }
  t.is(plans.length, 16);
  for (const plan of plans) {
    t.regex(plan, /COVERING INDEX log_by_/, plan);
    // Entries of one millisecond are put in order, no more.
    t.notRegex(plan, /TEMP B-TREE FOR ORDER|SCAN log_entries/, plan);
  }
  page({ traceIds: ['t'] }, null);
  t.regex(plans.at(-1) ?? '', /INDEX log_by_trace \(segment=\? AND trace=\?\)/);
});
