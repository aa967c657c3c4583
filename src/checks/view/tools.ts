// The texts of a tool call: every text in its arguments, and every text in its result but bytes.
import { Slots } from './slots.ts';
import type { Body, JsonObject, JsonPath } from './traffic.ts';

/** Values that are walked in one body; a body of more cannot be examined. */
const MOST_VALUES = 50_000;
const MOST_DEPTH = 64;
/** Members of a result that are bytes, or say of which kind a part is. */
const NO_TEXT = new Set(['data', 'blob', 'type', 'mimeType']);
const NONE: ReadonlySet<string> = new Set();

/** `{name, arguments}` of a call. */
export function toolArguments(tool: string, args: JsonObject): Body {
  return toolsRequest({ name: tool, arguments: args });
}

export function toolsRequest(json: JsonObject): Body {
  const slots = new Slots();
  addTexts(slots, ['arguments'], json.arguments, { role: 'user', unit: 0 }, NONE);
  return slots.body(json, 1);
}

/** A result as the server gave it. */
export function toolResult(result: JsonObject): Body {
  const slots = new Slots();
  addTexts(slots, [], result, { role: 'tool', unit: 0 }, NO_TEXT);
  return slots.body(result, 1);
}

interface Open {
  readonly path: JsonPath;
  readonly value: unknown;
}

function addTexts(
  slots: Slots,
  path: JsonPath,
  root: unknown,
  draft: { readonly role: string; readonly unit: number },
  skipped: ReadonlySet<string>,
): void {
  const open: Open[] = [{ path, value: root }];
  let count = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { path: here, value } = at;
    if (++count > MOST_VALUES || here.length > MOST_DEPTH) {
      slots.unreadable();
      return;
    }
    slots.text(here, value, draft);
    if (typeof value !== 'object' || value === null) continue;
    const members: [string | number, unknown][] = Array.isArray(value)
      ? [...value.entries()]
      : Object.entries(value);
    // Taken from the end, so that texts come in their order.
    for (const [name, inner] of members.reverse())
      if (typeof name === 'number' || typeof inner !== 'string' || !skipped.has(name))
        open.push({ path: [...here, name], value: inner });
  }
}
