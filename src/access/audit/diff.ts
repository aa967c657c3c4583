// What is different between two records, as a flat list without secrets.
import type { Json, JsonObject } from '../../store/collection.ts';
import type { AuditChange } from './entry.ts';
import { isSecretName, maskSecrets, maskText } from './secrets.ts';

const MAX_CHANGES = 100;
const MAX_DEPTH = 8;
/** Of one value as JSON, and of all together, in UTF-16 units. */
const MAX_VALUE = 2048;
const MAX_ALL = 65_536;

/** The changes, and whether there were more than an entry holds. */
export interface Diff {
  readonly changes: readonly AuditChange[];
  readonly truncated: boolean;
}

/** Members of objects are compared one by one, everything else as a whole. */
export function diff(before: JsonObject | undefined, after: JsonObject | undefined): Diff {
  const changes: AuditChange[] = [];
  let truncated = false;
  let room = MAX_ALL;

  const add = (path: string, name: string, was: Json | undefined, is: Json | undefined): void => {
    const change: { path: string; before?: Json; after?: Json } = { path: maskText(path).slice(0, 256) };
    for (const [side, value] of [
      ['before', was],
      ['after', is],
    ] as const) {
      if (value === undefined) continue;
      const shown = maskSecrets(value, name);
      const length = JSON.stringify(shown).length;
      truncated ||= length > MAX_VALUE;
      change[side] = length > MAX_VALUE ? `[${length} characters]` : shown;
      room -= Math.min(length, MAX_VALUE);
    }
    if (changes.length >= MAX_CHANGES || room < 0) truncated = true;
    else changes.push(change);
  };

  const walk = (path: string, was: JsonObject, is: JsonObject, depth: number): void => {
    for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
      if (changes.length >= MAX_CHANGES && truncated) return;
      const [old, now] = [own(was, name), own(is, name)];
      if (same(old, now)) continue;
      const at = path === '' ? name : `${path}.${name}`;
      const inner = isObject(old ?? {}) && isObject(now ?? {}) && !isSecretName(name);
      if (inner && depth < MAX_DEPTH && (isFull(old) || isFull(now))) {
        walk(at, (old ?? {}) as JsonObject, (now ?? {}) as JsonObject, depth + 1);
      } else add(at, name, old, now);
    }
  };

  walk('', before ?? {}, after ?? {}, 0);
  return { changes, truncated };
}

function own(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFull(value: Json | undefined): boolean {
  return value !== undefined && isObject(value) && Object.keys(value).length > 0;
}

function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  return JSON.stringify(a) === JSON.stringify(b);
}
