// Google's schema language as JSON Schema (Gemini API reference, "Schema").
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { isObject } from '../../json-object.ts';

const DEEPEST = 64;
/** Numbers that Google's clients write as texts. */
const COUNTS: ReadonlySet<string> = new Set([
  ...['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'],
]);

/** Types in small letters, `nullable` as a type, and without the order of properties. */
export function jsonSchema(schema: JsonObject, depth = 0): JsonObject {
  const out: JsonObject = {};
  for (const [name, value] of Object.entries(schema)) {
    if (name === '__proto__' || name === 'propertyOrdering' || name === 'nullable' || name === 'example')
      continue;
    out[name] = depth > DEEPEST ? value : memberOf(name, value, depth);
  }
  if (schema.nullable === true && typeof out.type === 'string') out.type = [out.type, 'null'];
  return out;
}

function memberOf(name: string, value: JsonValue, depth: number): JsonValue {
  if (name === 'type' && typeof value === 'string') return value.toLowerCase();
  if (COUNTS.has(name) && typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  if ((name === 'properties' || name === '$defs') && isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        isObject(inner) ? jsonSchema(inner, depth + 1) : inner,
      ]),
    );
  if (name === 'items' && isObject(value)) return jsonSchema(value, depth + 1);
  if (name === 'anyOf' && Array.isArray(value))
    return value.map((inner) => (isObject(inner) ? jsonSchema(inner, depth + 1) : inner));
  return value;
}
