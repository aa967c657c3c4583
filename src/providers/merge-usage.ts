// Two reports of one answer's token counts in one.
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject } from './json-object.ts';

/** Both reports in one: the later one's members win, at every level; nulls say nothing. */
export function mergeUsage(earlier: JsonObject | undefined, later: JsonObject): JsonObject {
  const merged: JsonObject = { ...earlier };
  for (const [name, value] of Object.entries(later)) {
    if (value === null || name === '__proto__') continue;
    const before = merged[name];
    merged[name] = isObject(value) ? mergeUsage(isObject(before) ? before : undefined, value) : value;
  }
  return merged;
}
