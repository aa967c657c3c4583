// Two rewrites of one JSON value, put together where they changed different parts of it.
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../contract/parameters.ts';

/** Replaces a merged value when both changed the same text. */
export const CONFLICT = Symbol('conflict');

/**
 * @param base what both were made of; @param written the later one; @param current what the earlier ones left
 * @returns `current` with the changes of `written`, or CONFLICT
 */
export function merged(base: unknown, written: unknown, current: unknown): unknown {
  if (base === current) return written;
  if (isDeepStrictEqual(base, written) || isDeepStrictEqual(written, current)) return current;
  if (isObject(base) && isObject(written) && isObject(current)) return mergedObject(base, written, current);
  if (
    Array.isArray(base) &&
    Array.isArray(written) &&
    Array.isArray(current) &&
    base.length === written.length &&
    base.length === current.length
  ) {
    const items = base.map((item, index) => merged(item, written[index], current[index]));
    return items.includes(CONFLICT) ? CONFLICT : items;
  }
  return isDeepStrictEqual(base, current) ? written : CONFLICT;
}

type JsonObject = Readonly<Record<string, unknown>>;

function mergedObject(base: JsonObject, written: JsonObject, current: JsonObject): unknown {
  const entries: [string, unknown][] = [];
  for (const name of new Set([...Object.keys(current), ...Object.keys(written)])) {
    const value = merged(own(base, name), own(written, name), own(current, name));
    if (value === CONFLICT) return CONFLICT;
    if (value !== undefined) entries.push([name, value]);
  }
  return Object.fromEntries(entries);
}

function own(value: JsonObject, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}
