// Writing texts back into a body. The body that came is left as it was: only what lies on the way to a change is copied.
import type { JsonObject, JsonPath, TextSlot } from './traffic.ts';

interface Leaf {
  readonly text: string;
  put(text: string): void;
}

/**
 * The body with the texts of some slots rewritten; in tool calls, every text within the arguments.
 * @param map all texts at once, in order, to as many; it may give the same ones back
 * @returns undefined when nothing changed
 */
export async function rewriteSlots(
  json: JsonObject,
  slots: readonly TextSlot[],
  map: (texts: readonly string[]) => Promise<readonly string[]>,
): Promise<JsonObject | undefined> {
  const changes = new Map<TextSlot, () => unknown>();
  const leaves = slots.flatMap((slot) => leavesOf(slot, (value) => changes.set(slot, value)));
  const texts = leaves.map(({ text }) => text);
  const mapped = await map(texts);
  for (const [index, leaf] of leaves.entries()) {
    const text = mapped[index];
    if (text !== undefined && text !== leaf.text) leaf.put(text);
  }
  if (changes.size === 0) return undefined;
  let written = json;
  for (const [slot, value] of changes) written = replaceAt(written, slot.path, value()) as JsonObject;
  return written;
}

/** The texts of a slot and how each is changed; `note` is told what stands in the slot from then on. */
function leavesOf(slot: TextSlot, note: (value: () => unknown) => void): Leaf[] {
  const root = slot.form === 'text' ? undefined : parse(slot.text);
  if (typeof root !== 'object' || root === null) {
    return [{ text: slot.text, put: (text) => note(() => text) }];
  }
  const value = () => (slot.form === 'json' ? root : JSON.stringify(root));
  return stringsIn(root).map(({ text, put }) => ({
    text,
    put(changed) {
      put(changed);
      note(value);
    },
  }));
}

/** Every text in a JSON value, at any depth. */
export function stringsIn(root: object): Leaf[] {
  const found: Leaf[] = [];
  const open: object[] = [root];
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    const owner = holder;
    for (const [key, value] of Object.entries(owner)) {
      if (typeof value === 'object' && value !== null) open.push(value);
      if (typeof value !== 'string') continue;
      // Defined and not assigned: a member may be called __proto__.
      const put = (text: string) =>
        Object.defineProperty(owner, key, {
          value: text,
          enumerable: true,
          writable: true,
          configurable: true,
        });
      found.push({ text: value, put });
    }
  }
  return found;
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
