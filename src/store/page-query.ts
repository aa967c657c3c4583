// A page query, checked against its collection's declaration, as both adapters run it.
import { invalidField } from '../lib/errors.ts';
import { BUILT_IN_FIELDS, type Collection, type IndexedField } from './collection.ts';
import { type ColumnValue, checkInteger, columnValue } from './document-checks.ts';
import { type Condition, type DocumentStatus, LIMITS, type PageQuery } from './documents.ts';

/** A condition whose value fits its field's column. */
export interface CheckedCondition {
  readonly field: string;
  readonly op: Condition['op'];
  readonly value: ColumnValue | readonly ColumnValue[];
}

/** Where the page before ended: the sort field's value and the id. */
export interface Position {
  readonly value: ColumnValue;
  readonly id: string;
}

export interface CheckedQuery {
  readonly filter: readonly CheckedCondition[];
  readonly status: DocumentStatus | 'all';
  readonly sort: string;
  readonly order: 'asc' | 'desc';
  readonly take: number;
  readonly skip: number;
  readonly after: Position | undefined;
}

/** Throws `validation_failed`, naming the field, for what is not declared, of another type or out of bounds. */
export function checkPageQuery(collection: Collection<object>, query: PageQuery): CheckedQuery {
  const filter = query.filter ?? [];
  if (filter.length > LIMITS.conditions) {
    throw invalidField('filter', `has more than ${LIMITS.conditions} conditions`, 'max_items');
  }
  const status = query.status ?? 'active';
  if (status !== 'active' && status !== 'archived' && status !== 'all') {
    throw invalidField('status', 'must be active, archived or all', 'in');
  }
  const { field: sort, order } = query.sort ?? { field: 'createdAt', order: 'asc' };
  if (!collection.sortable.includes(sort))
    throw invalidField(String(sort), 'cannot be sorted by', 'sortable');
  if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc', 'in');
  const take = checkPageSize(query.pageSize);
  if (query.cursor !== undefined && query.page !== undefined) {
    throw invalidField('cursor', 'cannot go with a page number', 'exclusive');
  }
  return {
    filter: filter.map((condition) => checkCondition(collection, condition)),
    status,
    sort,
    order,
    take,
    skip: checkSkip(query.page ?? 0, take),
    after: query.cursor === undefined ? undefined : decodeCursor(collection, query.cursor, sort, order),
  };
}

/** 1 to the limit. */
export function checkPageSize(pageSize: number): number {
  const take = checkInteger('page_size', pageSize, 1);
  if (take > LIMITS.pageSize) throw invalidField('page_size', `must be ${LIMITS.pageSize} or less`, 'lte');
  return take;
}

/** How many rows stand before a page counted from 0. */
export function checkSkip(page: number, take: number): number {
  const skip = checkInteger('current_page', page, 0) * take;
  if (skip > LIMITS.skip) {
    throw invalidField(
      'current_page',
      `lies more than ${LIMITS.skip} rows deep: use a cursor or a filter`,
      'lte',
    );
  }
  return skip;
}

/** The declared or built-in field of this name. */
export function fieldNamed(collection: Collection<object>, name: string): IndexedField {
  const byName = (field: IndexedField): boolean => field.name === name;
  const field = collection.fields.find(byName) ?? BUILT_IN_FIELDS.find(byName);
  if (!field) throw invalidField(String(name), `is no field of ${collection.name} to filter by`, 'declared');
  return field;
}

function checkCondition(collection: Collection<object>, condition: Condition): CheckedCondition {
  const field = fieldNamed(collection, condition.field);
  const { op } = condition;
  const single = (value: unknown): ColumnValue => columnValue(field.name, field.type, value);
  switch (op) {
    case 'eq':
      return { field: field.name, op, value: condition.value === null ? null : single(condition.value) };
    case 'in': {
      if (!Array.isArray(condition.value)) throw invalidField(field.name, 'must be a list', 'type');
      if (condition.value.length > LIMITS.inValues) {
        throw invalidField(field.name, `has more than ${LIMITS.inValues} values`, 'max_items');
      }
      return { field: field.name, op, value: condition.value.map(single) };
    }
    case 'contains':
      if (field.type !== 'text') throw invalidField(field.name, 'is no text', 'type');
      return { field: field.name, op, value: single(condition.value) };
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return { field: field.name, op, value: single(condition.value) };
    default:
      throw invalidField(field.name, 'has an unknown operator', 'op');
  }
}

/** An opaque text that leads on from this position. */
export function encodeCursor(query: CheckedQuery, at: Position): string {
  return Buffer.from(JSON.stringify([query.sort, query.order, at.value, at.id])).toString('base64url');
}

function decodeCursor(
  collection: Collection<object>,
  cursor: string,
  sort: string,
  order: 'asc' | 'desc',
): Position {
  const wrong = (message: string): Error => invalidField('cursor', message, 'cursor');
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    throw wrong('is none of ours');
  }
  if (!Array.isArray(parts) || parts.length !== 4) throw wrong('is none of ours');
  const [wasSort, wasOrder, value, id] = parts as unknown[];
  if (wasSort !== sort || wasOrder !== order) throw wrong('belongs to another sort order');
  if (typeof id !== 'string' || id.includes('\0') || id.length > LIMITS.name) throw wrong('is none of ours');
  if (value === null) return { value, id };
  return { value: columnValue('cursor', fieldNamed(collection, sort).type, value), id };
}
