// Whether a resource matches a filter.
import type { Json, JsonObject } from '../../store/collection.ts';
import type { Attribute } from './attribute.ts';
import { valueAttribute } from './attribute.ts';
import type { AttributePath } from './attribute-path.ts';
import type { Comparison, Filter, FilterValue } from './filter.ts';

/** @param resource with names as the schemas write them */
export function matches(filter: Filter, resource: JsonObject): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.every((part) => matches(part, resource));
    case 'or':
      return filter.parts.some((part) => matches(part, resource));
    case 'not':
      return !matches(filter.part, resource);
    case 'present':
      return valuesAt(filter.path, resource).some(isPresent);
    case 'values':
      return valuesAt(filter.path, resource).some((value) => isObject(value) && matches(filter.part, value));
    case 'compare': {
      const { path, op, value } = filter;
      const leaf = leafOf(path);
      const found = valuesAt(path, resource).flatMap((one) => (isObject(one) ? [one.value ?? null] : [one]));
      // Nothing is not equal to anything but null.
      if (op === 'ne') return !found.some((one) => compare(leaf, one, 'eq', value));
      if (value === null) return op === 'eq' && !found.some(isPresent);
      return found.some((one) => compare(leaf, one, op, value));
    }
  }
}

/** The values at a path, those of all elements of lists. */
export function valuesAt({ attribute, sub, leaf }: AttributePath, resource: JsonObject): readonly Json[] {
  let values = listOf(resource[attribute.name]);
  for (const part of [sub, leaf]) {
    if (part === undefined) break;
    values = values.flatMap((value) => (isObject(value) ? listOf(value[part.name]) : []));
  }
  return values;
}

function leafOf({ attribute, sub, leaf }: AttributePath): Attribute {
  const last = leaf ?? sub ?? attribute;
  return last.type === 'complex' ? (valueAttribute(last) ?? last) : last;
}

function compare(attribute: Attribute, found: Json, op: Comparison, value: FilterValue): boolean {
  if (typeof found !== 'string' || typeof value !== 'string') return op === 'eq' && found === value;
  if (attribute.type === 'dateTime') return ordered(op, Date.parse(found) - Date.parse(value));
  const fold = (text: string): string => (attribute.caseExact ? text : text.toLowerCase());
  const [a, b] = [fold(found), fold(value)];
  if (op === 'co') return a.includes(b);
  if (op === 'sw') return a.startsWith(b);
  if (op === 'ew') return a.endsWith(b);
  return ordered(op, a < b ? -1 : a > b ? 1 : 0);
}

function ordered(op: Comparison, difference: number): boolean {
  switch (op) {
    case 'eq':
      return difference === 0;
    case 'gt':
      return difference > 0;
    case 'ge':
      return difference >= 0;
    case 'lt':
      return difference < 0;
    case 'le':
      return difference <= 0;
    default:
      return false;
  }
}

function isPresent(value: Json): boolean {
  return value !== null && value !== '' && !(isObject(value) && Object.keys(value).length === 0);
}

function listOf(value: Json | undefined): readonly Json[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value as Json];
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
