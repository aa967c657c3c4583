// Where things are in a JSON text, also in one that is being written: what the reader completes, and what is at fault.

export type Step = string | number;

/** A member's name or an element, by its path. */
export interface Span {
  readonly path: readonly Step[];
  readonly from: number;
  readonly to: number;
}

/** What stands at a place of the text. */
export interface Place {
  /** Of the object whose member is written, or of the value. */
  readonly path: readonly Step[];
  readonly role: 'member' | 'value';
  /** Where the word at the place begins, its quotation mark included. */
  readonly from: number;
  /** Texts of the innermost object so far, by their members. */
  readonly texts: Readonly<Record<string, string>>;
}

interface Frame {
  readonly isList: boolean;
  readonly texts: Record<string, string>;
  key: string;
  index: number;
  isValue: boolean;
}

const STRING = /"(?:[^"\\]|\\.)*"/sy;
const WORD = /[\w.+-]+/y;

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** Reads a text from its beginning, and stays in place where it breaks off. */
class Reader {
  readonly spans: Span[] = [];
  readonly #frames: Frame[] = [];
  readonly #text: string;
  /** Where the token that the text ends in began; undefined: it ends between tokens. */
  #open: number | undefined;

  constructor(text: string) {
    this.#text = text;
    for (let at = 0; at < text.length; ) at = this.#token(at);
  }

  place(): Place | undefined {
    const top = this.#frames.at(-1);
    const isMember = top !== undefined && !top.isList && !top.isValue;
    const path = this.#path();
    return {
      path: isMember ? path.slice(0, -1) : path,
      role: isMember ? 'member' : 'value',
      from: this.#open ?? this.#text.length,
      texts: top?.isList ? {} : { ...top?.texts },
    };
  }

  #path(): Step[] {
    return this.#frames.map(({ isList, index, key }) => (isList ? index : key));
  }

  /** @returns where the next token begins */
  #token(at: number): number {
    const top = this.#frames.at(-1);
    const char = this.#text[at] ?? '';
    this.#open = undefined;
    if (char === '"') return this.#string(at, top);
    if (char === '{' || char === '[') {
      if (top?.isList) this.#span(at, at + 1);
      this.#frames.push({ isList: char === '[', texts: {}, key: '', index: 0, isValue: char === '[' });
    } else if (char === '}' || char === ']') this.#frames.pop();
    else if (char === ':' && top !== undefined) top.isValue = true;
    else if (char === ',' && top !== undefined) {
      top.index++;
      top.isValue = top.isList;
    } else if (/[\w.+-]/.test(char)) return this.#word(at, top);
    return at + 1;
  }

  #string(at: number, top: Frame | undefined): number {
    const found = matchAt(STRING, this.#text, at);
    if (found === undefined) {
      this.#open = at;
      return this.#text.length;
    }
    const end = at + found.length;
    const words = wordsOf(found);
    if (top !== undefined && !top.isList && !top.isValue) {
      top.key = words;
      this.#span(at, end);
    } else if (top !== undefined && !top.isList) top.texts[top.key] = words;
    else if (top !== undefined) this.#span(at, end);
    return end;
  }

  #word(at: number, top: Frame | undefined): number {
    const end = at + (matchAt(WORD, this.#text, at)?.length ?? 1);
    if (top?.isList) this.#span(at, end);
    if (end === this.#text.length) this.#open = at;
    return end;
  }

  #span(from: number, to: number): void {
    this.spans.push({ path: this.#path(), from, to });
  }
}

/** What is written at the end of a text that may break off anywhere. */
export function placeAt(text: string): Place | undefined {
  return new Reader(text).place();
}

/** Where a path is in a whole text: the span of its longest known beginning; undefined: nothing of it is there. */
export function spanOf(text: string, path: readonly Step[]): Span | undefined {
  const { spans } = new Reader(text);
  for (let length = path.length; length > 0; length--) {
    const wanted = nameOf(path.slice(0, length));
    const found = spans.find((span) => nameOf(span.path) === wanted);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Steps of a path as the gateway writes it, e.g. `targets[1].strategy.mode`. */
export function stepsOf(path: string): Step[] {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([name, index]) =>
    index === undefined ? name : Number(index),
  );
}

/** Members may be written in snake_case or camelCase. */
function nameOf(path: readonly Step[]): string {
  return path
    .map((step) => String(step).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
    .join('\n');
}

function wordsOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}
