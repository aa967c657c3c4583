// What the document is made of.

/** A JSON object under construction. */
export type Json = { [name: string]: unknown };

/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export type Schema = Json;

/** The object with its members in the order of their names. */
export function sorted<T>(entries: Iterable<readonly [string, T]>): { [name: string]: T } {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** The schema with its description; unchanged when the description is empty. */
export function described(schema: Schema, description: string): Schema {
  return description === '' ? schema : { ...schema, description };
}

/** The schema, or null. */
export function orNull(schema: Schema): Schema {
  if (typeof schema.type === 'string' && schema.enum === undefined && schema.const === undefined)
    return { ...schema, type: [schema.type, 'null'] };
  return { anyOf: [schema, { type: 'null' }] };
}
