// The texts of a tool call: every text in its arguments, and every text in its result but bytes.
import { Slots } from './slots.ts';
import type { Body, JsonObject, JsonPath } from './traffic.ts';

/** Values that are walked in one body; a body of more cannot be examined. */
const MOST_VALUES = 50_000;
const MOST_DEPTH = 64;
/** Members of parts that are bytes, or say of which kind a part is. */
const PART = new Set(['type', 'mimeType']);
const BYTES_PART = new Set(['type', 'mimeType', 'data']);
const RESOURCE = new Set(['mimeType', 'blob']);
/** What a client brings back as it is. */
const WHOLE = new Set(['resultType', 'requestState']);
const NONE: ReadonlySet<string> = new Set();

/** `{name, arguments}` of a call. */
export function toolArguments(tool: string, args: JsonObject): Body {
  return toolsRequest({ name: tool, arguments: args });
}

export function toolsRequest(json: JsonObject): Body {
  const slots = new Slots();
  addTexts(slots, ['arguments'], json.arguments, { role: 'user', unit: 0 }, () => NONE);
  return slots.body(json, 1);
}

/** A result, or an error in its place, as the server gave it. */
export function toolResult(result: JsonObject): Body {
  const slots = new Slots();
  addTexts(slots, [], result, { role: 'tool', unit: 0 }, noText);
  return slots.body(result, 1);
}

/** Members that are no text, by where they are: only parts of `content` hold bytes, and structured content is text. */
function noText(path: JsonPath, value: object): ReadonlySet<string> {
  if (path.length === 0) return WHOLE;
  if (path[0] !== 'content') return NONE;
  if (path.length === 2) {
    const { type } = value as { readonly type?: unknown };
    return type === 'image' || type === 'audio' ? BYTES_PART : PART;
  }
  return path.length === 3 && path[2] === 'resource' ? RESOURCE : NONE;
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
  skippedAt: (path: JsonPath, value: object) => ReadonlySet<string>,
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
    const skipped = skippedAt(here, value);
    // Taken from the end, so that texts come in their order.
    for (const [name, inner] of members.reverse())
      if (typeof name === 'number' || typeof inner !== 'string' || !skipped.has(name))
        open.push({ path: [...here, name], value: inner });
  }
}
