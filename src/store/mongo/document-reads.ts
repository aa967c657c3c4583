// Reading documents: each look-up by its index, pages by the planner's choice among the tenant's indexes.
import { invalidField } from '../../lib/errors.ts';
import type { Collection } from '../collection.ts';
import type { ColumnValue } from '../document-checks.ts';
import { LIMITS } from '../documents.ts';
import type { CheckedQuery } from '../page-query.ts';
import type { Deadline } from './calls.ts';
import { columnNamed, columnOf } from './columns.ts';
import { type DocumentModel, type DocumentRow, globalIndexOf, slugIndexOf } from './document-schema.ts';
import { type Filter, matching, matchingAfter, queryOf, sortOf, tenantFilter } from './page-filter.ts';

export interface RowPage {
  readonly rows: readonly DocumentRow[];
  readonly total: number;
  /** The sort field's value of the last row, when there are more rows. */
  readonly last: ColumnValue | undefined;
}

/** By id, or else by the slug of an active document. */
export async function readOne(
  model: DocumentModel,
  collection: Collection<object>,
  scope: { readonly organisationId: string; readonly workspaceId: string | null },
  ref: string,
  archived: boolean,
  deadline: Deadline,
): Promise<DocumentRow | null> {
  const mine = tenantFilter(scope.organisationId, scope.workspaceId);
  // By its whole key only: the other conditions are checked on the document that was read.
  const found = await model
    .findOne({ organisationId: scope.organisationId, id: ref })
    .maxTimeMS(deadline.remaining())
    .lean<DocumentRow>();
  const inScope = scope.workspaceId === null || found?.workspaceId === scope.workspaceId;
  if (found && inScope && (archived || !found.archived)) return found;
  const bySlug: Filter = { ...mine, slug: { $eq: ref }, archived: { $eq: false } };
  const [row, another] = await model
    .find(queryOf<DocumentRow>(bySlug))
    .hint(slugIndexOf(collection))
    .limit(2)
    .maxTimeMS(deadline.remaining())
    .lean<DocumentRow[]>();
  if (another) {
    const message = 'names documents of several workspaces: name the workspace or use the id';
    throw invalidField('slug', message, 'ambiguous');
  }
  return row ?? null;
}

/** Over all tenants, among active documents. */
export async function readUnique(
  model: DocumentModel,
  field: { readonly name: string },
  value: string | number,
  deadline: Deadline,
): Promise<DocumentRow | null> {
  const filter: Filter = { [columnOf(field)]: { $eq: value }, archived: { $eq: false } };
  return model
    .findOne(queryOf<DocumentRow>(filter))
    .hint(globalIndexOf(field))
    .maxTimeMS(deadline.remaining())
    .lean<DocumentRow>();
}

export async function readPage(
  model: DocumentModel,
  collection: Collection<object>,
  scope: { readonly organisationId: string; readonly workspaceId: string | null },
  query: CheckedQuery,
  deadline: Deadline,
): Promise<RowPage> {
  const all = matching(query, scope.organisationId, scope.workspaceId);
  const onPage = queryOf<DocumentRow>(matchingAfter(collection, query, all));
  const [total, found] = await Promise.all([
    model.countDocuments(queryOf<DocumentRow>(all), {
      limit: LIMITS.total + 1,
      maxTimeMS: deadline.remaining(),
    }),
    model
      .find(onPage)
      .sort(sortOf(query))
      .skip(query.skip)
      .limit(query.take + 1)
      .allowDiskUse(true)
      .maxTimeMS(deadline.remaining())
      .lean<DocumentRow[]>(),
  ]);
  const more = found.length > query.take;
  const rows = more ? found.slice(0, query.take) : found;
  const lastRow = more ? rows.at(-1) : undefined;
  return { rows, total, last: lastRow && sortValue(lastRow, query.sort) };
}

function sortValue(row: DocumentRow, field: string): ColumnValue {
  return row[columnNamed(field) as keyof DocumentRow] as ColumnValue;
}
