// Gemini takes schemas in two members: a subset of OpenAPI's schema objects (`parameters`, `responseSchema`), which all of
// its models know, and any JSON Schema (`parametersJsonSchema`, `responseJsonSchema`).
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { isObject } from '../../json-object.ts';

/** Members of Gemini's Schema (Gemini API reference, "Schema") with plain values. */
const PLAIN: ReadonlySet<string> = new Set([
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'maxItems',
  'minItems',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'example',
  'propertyOrdering',
  'default',
  'minimum',
  'maximum',
]);
const FORMATS: ReadonlySet<string> = new Set([
  'float',
  'double',
  'int32',
  'int64',
  'enum',
  'date-time',
  'date',
  'time',
]);
const DEEPEST = 32;

/** Whether the schema stays within Gemini's subset. */
export function isOpenApiSubset(schema: JsonObject, depth = 0): boolean {
  if (depth > DEEPEST) return false;
  return Object.entries(schema).every(([name, value]) => {
    switch (name) {
      case 'type':
        return typeof value === 'string' && value !== 'null';
      case 'format':
        return typeof value === 'string' && FORMATS.has(value);
      case 'enum':
        return Array.isArray(value) && value.every((item) => typeof item === 'string');
      case 'properties':
        return isObject(value) && Object.values(value).every((inner) => isSchema(inner, depth));
      case 'items':
        return isSchema(value, depth);
      case 'anyOf':
        return Array.isArray(value) && value.every((inner) => isSchema(inner, depth));
      default:
        return PLAIN.has(name);
    }
  });
}

function isSchema(value: JsonValue | undefined, depth: number): boolean {
  return isObject(value) && isOpenApiSubset(value, depth + 1);
}
