// A checked page query as MongoDB's filter and sort. Its members are declared names, its operators are written
// here, and every value of a caller is an operator's operand, so that it can only be data.
import type mongoose from 'mongoose';
import type { Collection } from '../collection.ts';
import type { CheckedCondition, CheckedQuery, Position } from '../page-query.ts';
import { columnNamed } from './columns.ts';
import { lowest } from './document-schema.ts';

export type Filter = Record<string, unknown>;

/** A filter as mongoose's types have it: they cannot follow members that are named at run time. Its schema checks them. */
export function queryOf<Row>(filter: Filter): mongoose.QueryFilter<Row> {
  return filter as mongoose.QueryFilter<Row>;
}

/** Whose documents: the first members of every filter. Checked texts, which are no operators. */
export function tenantFilter(organisationId: string, workspaceId: string | null): Filter {
  return {
    organisationId,
    ...(workspaceId === null ? {} : { workspaceId }),
  };
}

/** All documents that match, on whichever page. */
export function matching(query: CheckedQuery, organisationId: string, workspaceId: string | null): Filter {
  const filter: Filter = {
    ...tenantFilter(organisationId, workspaceId),
    archived: query.status === 'all' ? { $in: [false, true] } : { $eq: query.status === 'archived' },
  };
  // A second condition on a member must not replace the first.
  const further: Filter[] = [];
  for (const condition of query.filter) {
    const column = columnNamed(condition.field);
    if (Object.hasOwn(filter, column)) further.push({ [column]: operatorOf(condition) });
    else filter[column] = operatorOf(condition);
  }
  return further.length === 0 ? filter : { ...filter, $and: further };
}

/** Those of them that come after the query's cursor. */
export function matchingAfter(collection: Collection<object>, query: CheckedQuery, all: Filter): Filter {
  if (query.after === undefined) return all;
  const column = columnNamed(query.sort);
  const after = beyond(column, query.order, query.after, lowest(collection, query.sort));
  return { ...all, $and: [...((all.$and as Filter[] | undefined) ?? []), ...after] };
}

/** Ties by id. */
export function sortOf(query: CheckedQuery): Record<string, 1 | -1> {
  const direction = query.order === 'asc' ? 1 : -1;
  return { [columnNamed(query.sort)]: direction, id: direction };
}

function operatorOf({ op, value }: CheckedCondition): Filter {
  switch (op) {
    case 'eq':
      return { $eq: value };
    case 'in':
      return { $in: value };
    case 'contains':
      return { $regex: literally(value as string) };
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      // Only values of the same type compare: null is in no range.
      return { [`$${op}`]: value };
  }
}

/** A pattern that matches exactly this text. */
function literally(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}

/** Rows after a position; nulls stand before all values when ascending. Each branch is a range of the index. */
function beyond(
  column: string,
  order: 'asc' | 'desc',
  { value, id }: Position,
  first: string | number,
): Filter[] {
  if (order === 'asc') {
    const tie = { [column]: { $eq: value }, id: { $gt: id } };
    if (value === null) return [{ $or: [tie, { [column]: { $gte: first } }] }];
    // The outer bound serves a server that takes no branch to its index.
    return [{ [column]: { $gte: value } }, { $or: [tie, { [column]: { $gt: value } }] }];
  }
  const tie = { [column]: { $eq: value }, id: { $lt: id } };
  if (value === null) return [tie];
  return [{ $or: [tie, { [column]: { $lt: value } }, { [column]: { $eq: null } }] }];
}
