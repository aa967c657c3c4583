// What a provider sent, narrowed once: plain JSON objects.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { isHeavyText } from '../lib/heavy-event.ts';
import { parsedJson } from './parsed-json.ts';

/** Whether a value is an object of JSON: not null, not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members that say something: nulls are left out, and all of what is absent. */
export function given(value: JsonObject | undefined): JsonObject | undefined {
  if (value === undefined) return undefined;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** A member that is an object, else undefined. */
export function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** A member that is an array, else empty. */
export function arrayOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** A member that is a non-empty text, else undefined. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The object that a JSON text says; undefined when it is no JSON, no object, nests too deep, or is too heavy to be read. */
export function parsedObject(text: string): JsonObject | undefined {
  if (isHeavyText(text)) return undefined;
  const value = parsedJson(text);
  return isObject(value) ? value : undefined;
}
