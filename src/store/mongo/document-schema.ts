// The mongoose schema of a declared collection, with its indexes.
import mongoose from 'mongoose';
import { type Collection, type FieldType, searchedIn } from '../collection.ts';
import type { ColumnValue } from '../document-checks.ts';
import { columnNamed, columnOf } from './columns.ts';

/** A document as it is stored. The values of the declared fields are members next to the body, named as in
 * columns.ts. */
export interface DocumentRow {
  organisationId: string;
  workspaceId: string | null;
  id: string;
  slug: string | null;
  version: number;
  archived: boolean;
  createdAt: number;
  updatedAt: number;
  schemaVersion: number;
  /**
   * JSON text: a body keeps its members' names and order whatever they are (BSON reads meaning into `$` and
   * `_bsontype`, ends at 100 levels and swells long arrays over the server's 16 MiB), and no query reads into it.
   */
  body: string;
  [column: `f_${string}`]: ColumnValue;
}

export type DocumentModel = mongoose.Model<DocumentRow>;

/** `1` or `-1` by member, in the index's order. */
export type IndexKeys = Readonly<Record<string, 1 | -1>>;

export interface IndexDefinition {
  readonly name: string;
  readonly keys: IndexKeys;
  readonly unique: boolean;
  /** Which documents are in it. */
  readonly where?: Readonly<Record<string, unknown>>;
}

/** The model of a collection on a connection: only what is declared gets in. */
export function modelOf(connection: mongoose.Connection, collection: Collection<object>): DocumentModel {
  if (connection.modelNames().includes(collection.name))
    return connection.model<DocumentRow>(collection.name);
  const schema = new mongoose.Schema<DocumentRow>(
    {
      organisationId: { type: String, required: true },
      workspaceId: { type: String, default: null },
      id: { type: String, required: true },
      slug: { type: String, default: null },
      version: { type: Number, required: true },
      archived: { type: Boolean, required: true },
      createdAt: { type: Number, required: true },
      updatedAt: { type: Number, required: true },
      schemaVersion: { type: Number, required: true },
      body: { type: String, required: true },
      ...Object.fromEntries(collection.fields.map((field) => [columnOf(field), columnType(field.type)])),
    },
    {
      collection: collection.name,
      strict: 'throw',
      strictQuery: 'throw',
      id: false,
      versionKey: false,
      autoIndex: false,
      autoCreate: false,
    },
  );
  for (const { name, keys, unique, where } of indexesOf(collection)) {
    schema.index({ ...keys }, { name, unique, ...(where ? { partialFilterExpression: { ...where } } : {}) });
  }
  return connection.model<DocumentRow>(collection.name, schema);
}

function columnType(type: FieldType): { type: typeof String | typeof Number; default: null } {
  return { type: type === 'text' ? String : Number, default: null };
}

/** The name of the index by which slugs are found: a unique one where there is one. */
export function slugIndexOf(collection: Collection<object>): string {
  const own = collection.unique.find(({ fields }) => fields.length === 1 && fields[0] === 'slug');
  return own ? `one_${own.per}_slug` : 'slug';
}

/** The name of the index of a global field. */
export function globalIndexOf(field: { readonly name: string }): string {
  return `global_${field.name}`;
}

/**
 * The indexes of a collection: the tenant first, except for look-ups over all tenants. A name says all that its
 * definition says, so that a change is a new name.
 */
export function indexesOf(collection: Collection<object>): IndexDefinition[] {
  const indexes: IndexDefinition[] = [];
  const add = (
    name: string,
    columns: readonly string[],
    unique: boolean,
    where?: IndexDefinition['where'],
  ): void => {
    const keys = Object.fromEntries(columns.map((column) => [column, 1 as const]));
    indexes.push({ name, keys, unique, ...(where ? { where } : {}) });
  };
  add('id', ['organisationId', 'id'], true);

  // A page's skip is walked in the index alone: all that decides is in it (tenant, status, order, workspace).
  const tenant = ['organisationId', 'archived'];
  for (const field of collection.sortable) {
    const searched = searchedIn(collection, field).map(({ name }) => name);
    const columns = [...tenant, columnNamed(field), 'id', 'workspaceId', ...searched.map(columnNamed)];
    add([`by_${field}`, ...searched].join('_'), columns, false);
  }
  // For the poll for changes (see poll.ts), which needs nothing else of a document.
  if (collection.noticed) add('noticed', ['updatedAt', 'organisationId', 'id', 'version'], false);
  add('by_workspace', ['organisationId', 'workspaceId', 'archived', 'createdAt', 'id'], false);
  // Lists come by time unless asked otherwise: a filter's index goes on with it, so that nothing is sorted.
  for (const { name } of collection.fields) {
    if (collection.sortable.includes(name)) continue;
    add(`of_${name}`, [...tenant, columnNamed(name), 'createdAt', 'id', 'workspaceId'], false);
  }

  // The workspace last: so the index serves look-ups over the whole organisation too.
  for (const { fields, per } of collection.unique) {
    const columns = [
      'organisationId',
      ...fields.map(columnNamed),
      ...(per === 'workspace' ? ['workspaceId'] : []),
    ];
    add(`one_${per}_${fields.join('_')}`, columns, true, activeWith(collection, fields));
  }
  for (const field of collection.fields) {
    if (field.global)
      add(globalIndexOf(field), [columnOf(field)], true, activeWith(collection, [field.name]));
  }
  if (!indexes.some(({ name }) => name === slugIndexOf(collection))) {
    add(
      slugIndexOf(collection),
      ['organisationId', 'slug', 'workspaceId'],
      false,
      activeWith(collection, ['slug']),
    );
  }
  return indexes;
}

/**
 * Active documents in which none of the fields is null. Written as comparisons, because from those the server
 * concludes that a query for a value is answered by the index.
 */
function activeWith(collection: Collection<object>, fields: readonly string[]): Record<string, unknown> {
  const present = fields.map((field) => [columnNamed(field), { $gte: lowest(collection, field) }]);
  return { archived: false, ...Object.fromEntries(present) };
}

/** The first value of a field's type, after null. */
export function lowest(collection: Collection<object>, field: string): string | number {
  const declared = collection.fields.find(({ name }) => name === field);
  if (declared !== undefined) return declared.type === 'text' ? '' : Number.NEGATIVE_INFINITY;
  return field === 'createdAt' || field === 'updatedAt' ? Number.NEGATIVE_INFINITY : '';
}
