// References of an OpenAPI document: they lead to places of its own, and nowhere else.
import type { Json, JsonObject } from '../../store/collection.ts';
import { DocumentError } from './document-error.ts';

const DEEPEST = 16;
const SCHEMAS = '#/components/schemas/';
const DEEPEST_SCHEMA = 64;

export function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** What a value refers to, or the value. @throws DocumentError for one that leads outside, nowhere or in a circle */
export function resolved(document: JsonObject, value: Json | undefined): Json {
  let now: Json = value ?? {};
  for (let depth = 0; depth <= DEEPEST; depth++) {
    const { $ref } = objectOf(now);
    if (typeof $ref !== 'string') return now;
    now = at(document, $ref);
  }
  throw new DocumentError('document', 'has references in a circle');
}

/**
 * A schema that stands by itself: the schemas that it refers to are in its `$defs`.
 * @throws DocumentError for other references
 */
export function standalone(document: JsonObject, schema: Json): { schema: Json; defs: Map<string, Json> } {
  const defs = new Map<string, Json>();
  const walk = (value: Json, depth: number): Json => {
    if (depth > DEEPEST_SCHEMA) throw new DocumentError('document', 'has a schema that is nested too deeply');
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item: Json) => walk(item, depth + 1));
    const {
      $ref,
      nullable,
      example: _,
      xml: __,
      discriminator: ___,
      externalDocs: ____,
      ...rest
    } = value as JsonObject;
    if (typeof $ref === 'string') {
      if (!$ref.startsWith(SCHEMAS))
        throw new DocumentError('document', `has a reference that is not followed: ${$ref.slice(0, 128)}`);
      const name = decodeURIComponent($ref.slice(SCHEMAS.length)).replaceAll(/[^A-Za-z0-9_.-]/g, '_');
      if (!defs.has(name)) {
        defs.set(name, true);
        defs.set(name, walk(at(document, $ref), depth + 1));
      }
      return { $ref: `#/$defs/${name}` };
    }
    const own = Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, walk(item, depth + 1)]));
    // OpenAPI 3.0 has a word of its own for what may be null.
    return nullable === true && typeof own.type === 'string' ? { ...own, type: [own.type, 'null'] } : own;
  };
  return { schema: walk(schema, 0), defs };
}

function at(document: JsonObject, reference: string): Json {
  if (!reference.startsWith('#/'))
    throw new DocumentError('document', `has a reference outside of itself: ${reference.slice(0, 128)}`);
  let value: Json | undefined = document;
  for (const part of reference.slice(2).split('/')) {
    const name = decoded(part);
    const members: JsonObject = Array.isArray(value) ? (value as unknown as JsonObject) : objectOf(value);
    value = Object.hasOwn(members, name) ? members[name] : undefined;
  }
  if (value === undefined)
    throw new DocumentError('document', `has a reference to nothing: ${reference.slice(0, 128)}`);
  return value;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    throw new DocumentError('document', 'has a reference that cannot be read');
  }
}
