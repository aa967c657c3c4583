// Finding the texts of a body: what the readers of the APIs share.
import { dataUrlOf, decodedText, isTextFile } from './encoded-text.ts';
import { isLongerThan } from './json-length.ts';
import { MOST_CHARACTERS } from './most-characters.ts';
import type { Body, JsonObject, JsonPath, TextSlot } from './traffic.ts';

type Draft = Partial<Pick<TextSlot, 'kind' | 'role' | 'unit' | 'form' | 'name'>>;

/** Items of lists that are walked in one body: a conversation of more is none that can be examined. */
const MOST_ITEMS = 20_000;

/** Characters of files that are decoded in one body: more text is more than a check looks at. */
const MOST_ENCODED = 4 * MOST_CHARACTERS;

/** Gathers the slots of one body. Parts that differ from the API are skipped: the provider refuses them. */
export class Slots {
  readonly #slots: TextSlot[] = [];
  #opaque = false;
  #left = MOST_ITEMS;
  #leftEncoded = MOST_ENCODED;

  /** The objects of a list, each with its path; none when it is no list, or when the body has too many items. */
  objects(path: JsonPath, value: unknown): [JsonObject, JsonPath][] {
    return this.#takes(value) ? objectsIn(path, value) : [];
  }

  /** Whether a list may still be walked. */
  #takes(value: unknown): value is readonly unknown[] {
    if (!Array.isArray(value)) return false;
    this.#left -= value.length;
    if (this.#left >= 0) return true;
    this.unreadable();
    return false;
  }

  /** A text, when it is one. */
  text(path: JsonPath, value: unknown, draft: Draft): void {
    if (typeof value !== 'string' || value === '') return;
    const { kind = 'content', role = '', unit = 0, form = 'text', name } = draft;
    this.#slots.push({ path, kind, role, unit, form, text: value, ...(name ? { name } : {}) });
  }

  /** A file in base64, when it holds text: by its type, or by its name where it has none. */
  file(path: JsonPath, data: unknown, type: unknown, draft: Draft, name?: unknown): void {
    if (typeof data !== 'string' || data === '') return;
    const url = dataUrlOf(data);
    if (!isTextFile(url?.type || type, name)) return;
    this.#leftEncoded -= data.length;
    const isBase64 = url === undefined || /;\s*base64$/i.test(url.type);
    const found =
      isBase64 && this.#leftEncoded >= 0 ? decodedText(data, url?.type || type, url?.head) : undefined;
    if (found === undefined) {
      this.unreadable();
      return;
    }
    const { kind = 'content', role = '', unit = 0 } = draft;
    const { text, head } = found;
    if (text !== '') this.#slots.push({ path, kind, role, unit, form: 'text', text, base64After: head });
  }

  /** The arguments of a tool call: JSON as text, or JSON itself. */
  call(path: JsonPath, name: unknown, value: unknown, draft: Draft): void {
    const known = { ...draft, kind: 'tool_call' as const, ...(typeof name === 'string' ? { name } : {}) };
    if (typeof value === 'string') this.text(path, value, { ...known, form: 'json_text' });
    else if (typeof value === 'object' && value !== null) {
      this.text(path, this.#written(value), { ...known, form: 'json' });
    }
  }

  /** What the model is told beside the conversation: a text, or JSON whose names and texts all count. */
  told(path: JsonPath, value: unknown, draft: Draft = { role: 'system', unit: -1 }): void {
    const known = { ...draft, kind: 'told' as const };
    if (typeof value === 'string') this.text(path, value, known);
    else if (typeof value !== 'object' || value === null) return;
    else if (isLongerThan(value, MOST_CHARACTERS)) this.unreadable();
    else this.text(path, this.#written(value), { ...known, form: 'json' });
  }

  /** Members of the body itself that the model is told. */
  toldMembers(json: JsonObject, names: readonly string[], at: JsonPath = []): void {
    for (const name of names) this.told([...at, name], json[name]);
  }

  /**
   * A text, or parts with texts; `read` is asked of every part that is an object. Lists of bare texts and a part that is
   * no list are more than the APIs promise, and some providers take them: what is sent on must not go unseen.
   */
  content(
    path: JsonPath,
    value: unknown,
    draft: Draft,
    read: (part: JsonObject, at: JsonPath) => void,
  ): void {
    this.text(path, value, draft);
    if (Array.isArray(value)) {
      if (!this.#takes(value)) return;
      for (const [index, part] of value.entries()) this.text([...path, index], part, draft);
      for (const [part, at] of objectsIn(path, value)) read(part, at);
    } else if (typeof value === 'object' && value !== null) {
      read(value as JsonObject, path);
    }
  }

  /** A text, texts, or token numbers in their place. */
  prompts(path: JsonPath, value: unknown, draft: Draft): void {
    this.text(path, value, draft);
    if (!this.#takes(value)) return;
    for (const [index, item] of value.entries()) {
      this.text([...path, index], item, draft);
      if (typeof item === 'number' || Array.isArray(item)) this.#opaque = true;
    }
  }

  /** Something holds text that cannot be read: checks of texts then fail as on tokens. */
  unreadable(): void {
    this.#opaque = true;
  }

  /** JSON as text; one that is nested without end is more than can be written. */
  #written(value: object): string {
    try {
      return JSON.stringify(value);
    } catch {
      this.unreadable();
      return '';
    }
  }

  body(json: JsonObject, units: number): Body {
    return { json, slots: this.#slots, units: Math.max(1, units), opaque: this.#opaque };
  }
}

/** The objects of a list, each with its path; none when it is no list. */
export function objectsIn(path: JsonPath, value: unknown): [JsonObject, JsonPath][] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown, index): [JsonObject, JsonPath][] =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? [[item as JsonObject, [...path, index]]]
      : [],
  );
}

/** A member that is an object, else an empty one. */
export function objectAt(json: JsonObject, name: string): JsonObject {
  const value = json[name];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** A member that is a text, else an empty one. */
export function textAt(json: JsonObject, name: string): string {
  const value = json[name];
  return typeof value === 'string' ? value : '';
}
