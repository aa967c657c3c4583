// Writing texts back into a body. The body that came is left as it was: only what lies on the way to a change is copied.
import { CheckFailure } from '../contract/failure.ts';
import type { Replaceable } from '../sandbox/patterns.ts';
import { encodedText } from './encoded-text.ts';
import type { JsonObject, JsonPath, TextSlot } from './traffic.ts';

/** Characters of arguments that stand as JSON in a body and may be rewritten: they are read again. */
const MOST_JSON = 262_144;

/**
 * The body with the texts of some slots rewritten; in tool calls, every text within the arguments.
 * @param map all texts at once, in order, to as many; it may give the same ones back
 * @returns undefined when nothing changed
 * @throws CheckFailure InputTooLongError
 */
export async function rewriteSlots(
  json: JsonObject,
  slots: readonly TextSlot[],
  map: (texts: readonly Replaceable[]) => Promise<readonly string[]>,
): Promise<JsonObject | undefined> {
  const asJson = slots.reduce((sum, { form, text }) => sum + (form === 'json' ? text.length : 0), 0);
  if (asJson > MOST_JSON)
    throw new CheckFailure('InputTooLongError', `arguments of more than ${MOST_JSON} characters as JSON`);
  const mapped = await map(slots.map(({ text, form }) => ({ text, json: form !== 'text' })));
  const changes: Change[] = [];
  for (const [index, { text, path, form, base64After }] of slots.entries()) {
    const written = mapped[index];
    if (written === undefined || written === text) continue;
    const plain = form === 'json' ? JSON.parse(written) : written;
    changes.push({ path, value: base64After === undefined ? plain : encodedText(written, base64After) });
  }
  return changes.length === 0 ? undefined : (replaceAll(json, changes, 0) as JsonObject);
}

interface Change {
  readonly path: JsonPath;
  readonly value: unknown;
}

/** All changes below one value at once: each object and list on their way is copied once. */
function replaceAll(root: unknown, changes: readonly Change[], depth: number): unknown {
  const [first] = changes;
  if (first !== undefined && first.path.length === depth) return first.value;
  const byKey = new Map<string | number, Change[]>();
  for (const change of changes) {
    const key = change.path[depth]!;
    const below = byKey.get(key);
    if (below === undefined) byKey.set(key, [change]);
    else below.push(change);
  }
  const copy = (Array.isArray(root) ? root.slice() : { ...(root as object) }) as Record<string, unknown>;
  for (const [key, below] of byKey) {
    const value = replaceAll(Object.hasOwn(copy, key) ? copy[key] : undefined, below, depth + 1);
    // Defined and not assigned: a member may be called __proto__.
    Object.defineProperty(copy, key, { value, enumerable: true, writable: true, configurable: true });
  }
  return copy;
}

/** A copy with another value at a path; what does not lie on the path is shared. */
export function replaceAt(root: unknown, path: JsonPath, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(root)) {
    const copy = root.slice();
    copy[Number(key)] = replaceAt(root[Number(key)], rest, value);
    return copy;
  }
  const holder = (typeof root === 'object' && root !== null ? root : {}) as JsonObject;
  return { ...holder, [key]: replaceAt(Object.hasOwn(holder, key) ? holder[key] : undefined, rest, value) };
}
