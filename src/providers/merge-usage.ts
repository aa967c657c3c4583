// Two reports of one answer's token counts in one.
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject } from './json-object.ts';

/** Levels that are merged; usage has three. What is deeper is taken from the later report. */
const DEEPEST = 8;

/** Merges two reports: the later one's members win, at every level; nulls are ignored. */
export function mergeUsage(earlier: JsonObject | undefined, later: JsonObject, depth = 0): JsonObject {
  const merged: JsonObject = { ...earlier };
  for (const [name, value] of Object.entries(later)) {
    if (value === null || name === '__proto__') continue;
    const before = merged[name];
    merged[name] =
      isObject(value) && depth < DEEPEST
        ? mergeUsage(isObject(before) ? before : undefined, value, depth + 1)
        : value;
  }
  return merged;
}
