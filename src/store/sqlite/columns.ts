// Names of tables, columns and indexes. All SQL of the document tables is made of these, and they come from
// checked declarations only.
import type { Collection, IndexedField } from '../collection.ts';

/** The table of a collection. */
export function tableOf(collection: Collection<object>): string {
  return `c_${collection.name}`;
}

/** The column of a declared field; the prefix keeps it from clashing with a built-in column. */
export function columnOf(field: IndexedField): string {
  return `f_${field.name}`;
}

const BUILT_IN: Readonly<Record<string, string>> = {
  id: 'id',
  slug: 'slug',
  workspaceId: 'workspace_id',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
};

/** The column of a declared or built-in field by its name. */
export function columnNamed(name: string): string {
  return Object.hasOwn(BUILT_IN, name) ? (BUILT_IN[name] as string) : `f_${name}`;
}

/** The field that a column stands for. */
export function fieldOfColumn(column: string): string {
  for (const [field, name] of Object.entries(BUILT_IN)) if (name === column) return field;
  return column.startsWith('f_') ? column.slice(2) : column;
}

/** The columns of a `DocumentRow`, in its order. */
export const ROW_COLUMNS =
  'id, workspace_id, slug, version, archived, created_at, updated_at, schema_version, body';
