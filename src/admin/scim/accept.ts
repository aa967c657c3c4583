// A resource as callers send it, read by its schema: names in the schema's letter case, values of the schema's types.
// What no schema names is left out, and so is what is read-only.
import type { Json, JsonObject } from '../../store/collection.ts';
import { type Attribute, attributeNamed } from './attribute.ts';
import { isObject } from './filter-match.ts';
import { wrong } from './scim-error.ts';

/** Characters of a text. */
const LONGEST_TEXT = 4096;
const LONGEST_BINARY = 16_384;
/** Values of a list; members of a group have a bound of their own. */
const MOST_VALUES = 100;
export const MOST_MEMBERS = 10_000;

/** @throws ScimError invalidValue, naming the attribute */
export function acceptResource(given: unknown, attributes: readonly Attribute[]): JsonObject {
  if (!isObject(given)) throw wrong('invalidSyntax', 'the body must be a JSON object');
  return acceptMembers(given, attributes, '');
}

/** A value for an attribute; undefined: none. @throws as acceptResource */
export function acceptValue(given: Json, attribute: Attribute, at: string): Json | undefined {
  if (given === null) return undefined;
  if (!attribute.multiValued) return acceptOne(given, attribute, at);
  const list = Array.isArray(given) ? given : [given as Json];
  const most = attribute.name === 'members' ? MOST_MEMBERS : MOST_VALUES;
  if (list.length > most) throw wrong('invalidValue', `${at} has more than ${most} values`);
  const values = list.flatMap((one) => {
    const plain = attribute.type === 'complex' && typeof one === 'string' ? { value: one } : one;
    const value = plain === null ? undefined : acceptOne(plain, attribute, at);
    return value === undefined ? [] : [value];
  });
  return values.length === 0 ? undefined : values;
}

function acceptMembers(given: JsonObject, attributes: readonly Attribute[], at: string): JsonObject {
  const taken: Record<string, Json> = {};
  for (const [name, value] of Object.entries(given)) {
    const attribute = attributeNamed(attributes, name);
    if (attribute === undefined || attribute.mutability === 'readOnly') continue;
    if (attribute.name in taken) throw wrong('invalidSyntax', `${at}${attribute.name} is given twice`);
    const accepted = acceptValue(value, attribute, at + attribute.name);
    if (accepted !== undefined) taken[attribute.name] = accepted;
  }
  return taken;
}

function acceptOne(given: Json, attribute: Attribute, at: string): Json | undefined {
  switch (attribute.type) {
    case 'complex': {
      // Some identity providers send a manager's id alone, and Entra a list of one.
      const one = Array.isArray(given) && given.length === 1 ? (given[0] ?? null) : given;
      const whole = typeof one === 'string' && attribute.name === 'manager' ? { value: one } : one;
      if (!isObject(whole)) throw wrong('invalidValue', `${at} must be an object`);
      const members = acceptMembers(whole, attribute.subAttributes ?? [], `${at}.`);
      return Object.keys(members).length === 0 ? undefined : members;
    }
    case 'boolean':
      return acceptBoolean(given, at);
    default: {
      const text = typeof given === 'number' ? String(given) : given;
      if (typeof text !== 'string') throw wrong('invalidValue', `${at} must be a text`);
      const most = attribute.type === 'binary' ? LONGEST_BINARY : LONGEST_TEXT;
      if (text.length > most) throw wrong('invalidValue', `${at} has more than ${most} characters`);
      return text;
    }
  }
}

/** Entra sends "True" and "False". */
function acceptBoolean(given: Json, at: string): boolean {
  const lower = typeof given === 'string' ? given.toLowerCase() : given;
  if (lower === true || lower === 'true') return true;
  if (lower === false || lower === 'false') return false;
  throw wrong('invalidValue', `${at} must be true or false`);
}
