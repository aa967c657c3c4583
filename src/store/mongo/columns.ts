// Names of the members in which a collection keeps the values that it is found by. All filters and indexes are
// made of these, and they come from checked declarations only.
import type { IndexedField } from '../collection.ts';

/** The member of a declared field; the prefix keeps it from clashing with a built-in member. */
export function columnOf(field: Pick<IndexedField, 'name'>): string {
  return `f_${field.name}`;
}

const BUILT_IN = new Set(['id', 'slug', 'workspaceId', 'createdAt', 'updatedAt']);

/** The member of a declared or built-in field by its name. */
export function columnNamed(name: string): string {
  return BUILT_IN.has(name) ? name : `f_${name}`;
}

/** The field that a member stands for. */
export function fieldOfColumn(column: string): string {
  return column.startsWith('f_') ? column.slice(2) : column;
}
