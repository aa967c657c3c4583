// Two reports of one answer's token counts in one.
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject } from './json-object.ts';

/** Levels that are merged; usage has three. What is deeper is taken from the later report. */
const DEEPEST = 8;
/**
 * Members of one level that are kept: reports have some twenty. A provider that sends one of a new name with each event would
 * have every event copy all that came before.
 */
const MOST_MEMBERS = 64;

/** Merges two reports: the later one's members win, at every level; nulls are ignored. */
export function mergeUsage(earlier: JsonObject | undefined, later: JsonObject, depth = 0): JsonObject {
  const merged: JsonObject = { ...earlier };
  let free = MOST_MEMBERS - Object.keys(merged).length;
  for (const [name, value] of Object.entries(later)) {
    if (value === null || name === '__proto__') continue;
    if (!Object.hasOwn(merged, name) && --free < 0) continue;
    const before = merged[name];
    merged[name] =
      isObject(value) && depth < DEEPEST
        ? mergeUsage(isObject(before) ? before : undefined, value, depth + 1)
        : value;
  }
  return merged;
}
