// A collection is declared as data: both document stores build their tables, indexes and checks from it.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** `integer` also takes booleans, as 0 and 1. */
export type FieldType = 'text' | 'integer' | 'real';

/** A value of the body by which documents are found: a column of its own, with an index. */
export interface IndexedField {
  readonly name: string;
  readonly type: FieldType;
  /** May be absent or null in the body. */
  readonly nullable?: boolean;
  /** Where the value is in the body, with dots; the field's name by default. */
  readonly path?: string;
  /** May be looked up without a tenant (API keys by their hash), and is unique over all tenants. */
  readonly global?: boolean;
  /** Lists in the order of time are searched by it (`contains`, or several values): it stands in that order's index too. */
  readonly searched?: boolean;
}

/**
 * No two documents that are not archived share these values. Fields of the declaration, or `slug`.
 * A document in which one of them is null is exempt.
 */
export interface UniqueConstraint {
  readonly fields: readonly string[];
  readonly per: 'organisation' | 'workspace';
}

/** A body in the shape of one schema version as a body in the shape of the next. Pure: it may run at every read. */
export type Upgrade = (body: JsonObject) => object;

/**
 * By the version from which a step leads to the next one; a version without a step has the shape of the next. Bodies
 * come as they are stored: what is sealed stays sealed and under its path. An indexed field that is to mean something
 * else gets another name, because documents that are not rewritten yet are found by what they were stored with.
 */
export type Upgrades = Readonly<Record<number, Upgrade>>;

/** A value of the body that is kept encrypted, whatever JSON it is. */
export interface SecretField {
  /** Where it is, with dots; `*` stands for every element of a list and every member of a map. */
  readonly path: string;
  /** Documents written before it was declared hold it plain; only then is a plain value no sign of tampering. */
  readonly formerlyPlain: boolean;
}

export interface CollectionDeclaration {
  /** Lower case letters, digits and `_`. */
  readonly name: string;
  /** The body's version, written into each document. From 1; one more with each change of the body's shape. */
  readonly schemaVersion: number;
  readonly upgrades?: Upgrades;
  readonly fields?: readonly IndexedField[];
  readonly unique?: readonly UniqueConstraint[];
  /** By what lists may be sorted, in addition to `createdAt`: fields of the declaration, `updatedAt`, `slug`. */
  readonly sortable?: readonly string[];
  /** Encrypted at rest (see encrypted-documents.ts): no field, and so neither filtered nor sorted by. */
  readonly secret?: readonly (string | SecretField)[];
  /** Its changes are told to all instances (see change-feed.ts). */
  readonly noticed?: boolean;
  /** Its documents belong to workspaces, and are archived with them. */
  readonly inWorkspace?: WorkspaceContents;
}

/** Documents that belong to a workspace. */
export interface WorkspaceContents {
  /** In words, in the plural, as refusals name them. */
  readonly name: string;
  /** Whether a workspace that has some is archived only by force. */
  readonly blocks: boolean;
}

/** A checked declaration; `B` is the body's type. Made by `defineCollection`. */
export interface Collection<B extends object = JsonObject> {
  readonly name: string;
  readonly schemaVersion: number;
  readonly upgrades: Upgrades;
  readonly fields: readonly IndexedField[];
  readonly unique: readonly UniqueConstraint[];
  readonly sortable: readonly string[];
  readonly secret: readonly SecretField[];
  readonly noticed: boolean;
  readonly inWorkspace?: WorkspaceContents;
  /** Never set: it carries the body's type. */
  readonly bodyType?: B;
}

/** A field that every document has and that may be filtered by. */
export const BUILT_IN_FIELDS: readonly IndexedField[] = [
  { name: 'id', type: 'text' },
  { name: 'slug', type: 'text', nullable: true },
  { name: 'workspaceId', type: 'text', nullable: true },
  { name: 'createdAt', type: 'integer' },
  { name: 'updatedAt', type: 'integer' },
];

/** What lists in a field's order are searched by: it stands in the order's index, so that nothing else is read. */
export function searchedIn(collection: Collection<object>, field: string): readonly IndexedField[] {
  return field === 'createdAt' ? collection.fields.filter(({ searched }) => searched) : [];
}

const COLLECTION_NAME = /^[a-z][a-z0-9_]{0,62}$/;
const FIELD_NAME = /^[a-z][A-Za-z0-9]{0,62}$/;
const PATH = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$/;
const SECRET_PATH = /^[A-Za-z_][A-Za-z0-9_]*(\.([A-Za-z_][A-Za-z0-9_]*|\*))*$/;

/**
 * Checks a declaration. Throws a plain Error, at start, on what is the programmer's mistake: names become
 * table and column names, so nothing else than letters, digits and `_` may get through here.
 */
export function defineCollection<B extends object = JsonObject>(
  declaration: CollectionDeclaration,
): Collection<B> {
  const { name, schemaVersion, upgrades = {}, fields = [], unique = [], sortable = [] } = declaration;
  const wrong = (what: string): Error => new Error(`collection ${name}: ${what}`);
  if (!COLLECTION_NAME.test(name)) throw wrong('the name must match [a-z][a-z0-9_]*');
  if (!Number.isSafeInteger(schemaVersion) || schemaVersion < 1) throw wrong('schemaVersion starts at 1');
  for (const from of Object.keys(upgrades)) {
    if (!/^[1-9]\d*$/.test(from) || Number(from) >= schemaVersion)
      throw wrong(`upgrades names ${from}, which is no version before ${schemaVersion}`);
  }

  // SQLite's column names know no case.
  const seen = new Set(BUILT_IN_FIELDS.map((field) => field.name.toLowerCase()));
  for (const field of fields) {
    if (!FIELD_NAME.test(field.name)) throw wrong(`field ${field.name} must match [a-z][A-Za-z0-9]*`);
    if (!PATH.test(field.path ?? field.name)) throw wrong(`field ${field.name} has a path that is none`);
    if (seen.has(field.name.toLowerCase())) throw wrong(`field ${field.name} is there already`);
    seen.add(field.name.toLowerCase());
  }
  const known = new Set(['slug', ...fields.map((field) => field.name)]);
  for (const constraint of unique) {
    if (constraint.fields.length === 0) throw wrong('a unique constraint names its fields');
    for (const field of constraint.fields) {
      if (!known.has(field)) throw wrong(`the unique constraint names ${field}, which is not declared`);
    }
  }
  known.add('createdAt').add('updatedAt');
  for (const field of sortable) {
    if (!known.has(field)) throw wrong(`sortable names ${field}, which is not declared`);
  }
  return {
    name,
    schemaVersion,
    upgrades,
    fields,
    unique,
    sortable: [...new Set(['createdAt', ...sortable])],
    secret: secretFields(declaration, wrong),
    noticed: declaration.noticed ?? false,
    ...(declaration.inWorkspace === undefined ? {} : { inWorkspace: declaration.inWorkspace }),
  };
}

/** No secret is inside or around another secret or an indexed field: it can be neither indexed nor sealed twice. */
function secretFields(
  { secret = [], fields = [] }: CollectionDeclaration,
  wrong: (what: string) => Error,
): SecretField[] {
  const taken = fields.map(({ name, path = name }) => path);
  return secret.map((entry) => {
    const field = typeof entry === 'string' ? { path: entry, formerlyPlain: false } : entry;
    if (!SECRET_PATH.test(field.path)) throw wrong(`the secret ${field.path} has a path that is none`);
    const other = taken.find((path) => overlap(path, field.path));
    if (other !== undefined) throw wrong(`the secret ${field.path} meets ${other}: no secret can be indexed`);
    taken.push(field.path);
    return field;
  });
}

/** Whether two paths can lead to the same value, or one into the other's. */
function overlap(one: string, another: string): boolean {
  const [a, b] = [one.split('.'), another.split('.')];
  const [shorter, longer] = a.length < b.length ? [a, b] : [b, a];
  return shorter.every((part, i) => part === longer[i] || part === '*' || longer[i] === '*');
}
