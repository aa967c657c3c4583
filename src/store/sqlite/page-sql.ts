// A checked page query as SQL. Its text is made of declared names and closed words; every value is bound.
import type { SQLInputValue } from 'node:sqlite';
import type { Collection } from '../collection.ts';
import type { ColumnValue } from '../document-checks.ts';
import { LIMITS } from '../documents.ts';
import type { CheckedCondition } from '../page-query.ts';
import { columnNamed, tableOf } from './columns.ts';
import { orderIndexOf } from './document-schema.ts';
import type { PageCall } from './protocol.ts';

export interface Query {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

const COMPARE = { lt: '<', lte: '<=', gt: '>', gte: '>=' } as const;

/** Counts the rows of all pages, as far as totals are counted. */
export function countQuery(collection: Collection<object>, call: PageCall): Query {
  const { sql, values } = matching('1', collection, call, undefined);
  return { sql: `SELECT count(*) AS n FROM (SELECT 1 FROM (${sql}) LIMIT ${LIMITS.total + 1})`, values };
}

/** Finds the `seq` and sort value of a page's rows, and of one more. Only an index is read for what is skipped. */
export function pageQuery(collection: Collection<object>, call: PageCall): Query {
  const column = columnNamed(call.sort);
  const order = call.order === 'asc' ? 'ASC' : 'DESC';
  const after = call.after && beyond(column, call.order, call.after.value, call.after.id);
  const { sql, values } = matching(`seq, ${column} AS sort_value, id`, collection, call, after);
  return {
    sql: `${sql} ORDER BY sort_value ${order}, id ${order} LIMIT ? OFFSET ?`,
    values: [...values, call.take + 1, call.skip],
  };
}

/**
 * Without figures of its own SQLite would rather walk the order's index than find by a value and sort what it
 * found: it is told the index, by an id where there is one, else by a field that lists may be sorted by.
 */
function indexFor(collection: Collection<object>, { filter, sort }: PageCall): string {
  const fields = filter.flatMap(({ field, op }) => (op === 'eq' || op === 'in' ? [field] : []));
  if (fields.includes('id')) return ` INDEXED BY ${tableOf(collection)}__id`;
  const found = fields.find((field) => field !== sort && collection.sortable.includes(field));
  return found === undefined ? '' : ` INDEXED BY ${orderIndexOf(collection, found)}`;
}

/**
 * The matching rows. Those of both statuses are two walks of an index, which SQLite merges in order as long as
 * no SELECT stands around them.
 */
function matching(
  columns: string,
  collection: Collection<object>,
  call: PageCall,
  after: Query | undefined,
): Query {
  const parts = ['organisation_id = ?'];
  const values: SQLInputValue[] = [call.org];
  const add = (sql: string, ...bound: SQLInputValue[]): void => {
    parts.push(sql);
    values.push(...bound);
  };
  if (call.workspace !== null) add('workspace_id = ?', call.workspace);
  for (const condition of call.filter) addCondition(condition, add);
  if (after) add(after.sql, ...after.values);
  const table = `${tableOf(collection)}${indexFor(collection, call)}`;
  const walk = (archived: number): string =>
    `SELECT ${columns} FROM ${table} WHERE archived = ${archived} AND ${parts.join(' AND ')}`;
  if (call.status !== 'all') return { sql: walk(call.status === 'archived' ? 1 : 0), values };
  return { sql: `${walk(0)} UNION ALL ${walk(1)}`, values: [...values, ...values] };
}

function addCondition(
  condition: CheckedCondition,
  add: (sql: string, ...bound: SQLInputValue[]) => void,
): void {
  const { field, op, value } = condition;
  const column = columnNamed(field);
  switch (op) {
    case 'eq':
      // Absent workspaces are stored as ''.
      add(`${column} IS ?`, field === 'workspaceId' ? ((value ?? '') as string) : (value as ColumnValue));
      break;
    case 'in':
      // One bound list, so that the statement's text does not depend on its length.
      add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(value));
      break;
    case 'contains':
      add(`instr(${column}, ?) > 0`, value as string);
      break;
    default:
      add(`${column} ${COMPARE[op]} ?`, value as ColumnValue);
  }
}

/** Rows after a position; nulls stand before all values when ascending. */
function beyond(column: string, order: 'asc' | 'desc', value: ColumnValue, id: string): Query {
  if (order === 'asc') {
    if (value === null) return { sql: `(${column} IS NOT NULL OR id > ?)`, values: [id] };
    return { sql: `(${column}, id) > (?, ?)`, values: [value, id] };
  }
  if (value === null) return { sql: `${column} IS NULL AND id < ?`, values: [id] };
  return { sql: `((${column}, id) < (?, ?) OR ${column} IS NULL)`, values: [value, id] };
}
