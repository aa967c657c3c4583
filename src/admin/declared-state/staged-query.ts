// A page's conditions, asked of documents that are not stored yet.
import type { TenantScope } from '../../call/scope.ts';
import type { Collection } from '../../store/collection.ts';
import { type ColumnValue, indexedValues } from '../../store/document-checks.ts';
import type { Condition, Document, FilterValue, PageQuery } from '../../store/documents.ts';

/** Whether a document is one of a page's, whichever page it is on. */
export function matches(
  { workspaceId }: TenantScope,
  collection: Collection<object>,
  { filter = [], status = 'active' }: PageQuery,
  document: Document<object>,
): boolean {
  if (workspaceId !== undefined && document.workspaceId !== workspaceId) return false;
  if (status !== 'all' && document.status !== status) return false;
  return filter.every((condition) => holds(condition, sortValue(collection, condition.field, document)));
}

/** The value of a declared or built-in field. */
export function sortValue(
  collection: Collection<object>,
  field: string,
  document: Document<object>,
): ColumnValue {
  const place = collection.fields.findIndex(({ name }) => name === field);
  if (place !== -1) return indexedValues(collection, document.body)[place] ?? null;
  const { id, slug = null, workspaceId = null, createdAt, updatedAt } = document;
  const known: Readonly<Record<string, ColumnValue>> = { id, slug, workspaceId, createdAt, updatedAt };
  return known[field] ?? null;
}

function holds(condition: Condition, value: ColumnValue): boolean {
  const { op } = condition;
  if (op === 'eq') return value === plain(condition.value);
  if (op === 'in') return condition.value.some((one) => value === plain(one));
  if (value === null) return false;
  if (op === 'contains') return String(value).includes(condition.value);
  const bound = plain(condition.value);
  if (bound === null || typeof bound !== typeof value) return false;
  if (op === 'lt') return value < bound;
  if (op === 'lte') return value <= bound;
  return op === 'gt' ? value > bound : value >= bound;
}

function plain(value: FilterValue): ColumnValue {
  return typeof value === 'boolean' ? Number(value) : value;
}
