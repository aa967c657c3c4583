// JSON text in one form, so that texts that say the same are the same text: members sorted, white space gone,
// strings and numbers spelled one way. Nothing is parsed into numbers that cannot hold it: a literal that a double
// would round stays as it was written. The text is read in steps: a megabyte of small values takes 100 ms.
import { nextTurn } from '../../lib/time-slices.ts';

/** Nested deeper than this, a value stays as it was written. */
const MAX_DEPTH = 200;
/** Digits that a double always gives back. */
const EXACT_DIGITS = 15;
/** Shorter texts are read in one turn of the event loop. */
const SHORT_TEXT = 65_536;
/** Values that are read in one turn: a few milliseconds. */
const TURN_STEPS = 10_000;
/** Items of a list that are joined at once. */
const JOINED_ITEMS = 4096;

const BRACE = 123;
const BRACKET = 91;
const QUOTE = 34;

/** Another text in the place of a member's canonical one; undefined leaves the member out. */
export type Edit = (name: string, canonical: string) => string | undefined;

const keep: Edit = (_, canonical) => canonical;

/**
 * The text's canonical form; undefined when it is no JSON. Members of the same name keep their order, because
 * which of them counts is the reader's choice. `edit` is asked for the members of the top object.
 */
export function canonicalJson(text: string, edit = keep): string | undefined {
  const reader = new Reader(text, edit);
  reader.run(Number.POSITIVE_INFINITY);
  return reader.canonical;
}

/** As `canonicalJson`, in turns of the event loop where the text is long. */
export async function canonicalJsonInTurns(text: string, edit = keep): Promise<string | undefined> {
  if (text.length <= SHORT_TEXT) return canonicalJson(text, edit);
  const reader = new Reader(text, edit);
  while (!reader.run(TURN_STEPS)) await nextTurn();
  return reader.canonical;
}

interface OpenList {
  readonly kind: 'list';
  readonly within: Open | undefined;
  /** Its first items, joined. */
  text: string;
  items: string[];
}

interface OpenObject {
  readonly kind: 'object';
  readonly within: Open | undefined;
  readonly members: [name: string, text: string][];
  /** Of the member whose value comes next. */
  name: string;
}

type Open = OpenList | OpenObject;

class Reader {
  readonly #text: string;
  readonly #edit: Edit;
  #at = 0;
  /** The innermost list or object. */
  #open: Open | undefined;
  #depth = 0;
  /** Where a value begins that is too deep to be sorted, and how many of its brackets are open. */
  #deepFrom = -1;
  #brackets = 0;
  #over = false;
  canonical: string | undefined;

  constructor(text: string, edit: Edit) {
    this.#text = text;
    this.#edit = edit;
  }

  /** Reads so many values more. @returns whether the text was read to its end */
  run(steps: number): boolean {
    try {
      for (let left = steps; left > 0 && !this.#over; left--) {
        if (this.#deepFrom >= 0) this.#deepToken();
        else this.#value();
      }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.#over = true;
    }
    return this.#over;
  }

  /** Reads the value that comes next, or opens it. */
  #value(): void {
    this.#blank();
    if (this.#depth > MAX_DEPTH) {
      this.#deepFrom = this.#at;
      return;
    }
    switch (this.#text.charCodeAt(this.#at)) {
      case BRACE:
        if (!this.#isEmpty('}')) this.#enter({ kind: 'object', within: this.#open, members: [], name: '' });
        else this.#take('{}');
        return;
      case BRACKET:
        if (!this.#isEmpty(']')) this.#enter({ kind: 'list', within: this.#open, text: '', items: [] });
        else this.#take('[]');
        return;
      case QUOTE:
        this.#take(this.#string());
        return;
      default:
        this.#take(this.#literal());
    }
  }

  /** Passes an opening bracket, and the closing one where it follows. */
  #isEmpty(closing: string): boolean {
    this.#at++;
    this.#blank();
    if (this.#text[this.#at] !== closing) return false;
    this.#at++;
    return true;
  }

  #enter(open: Open): void {
    this.#open = open;
    this.#depth++;
    if (open.kind === 'object') this.#name(open);
  }

  #name(object: OpenObject): void {
    this.#blank();
    if (this.#text.charCodeAt(this.#at) !== QUOTE) throw new SyntaxError();
    object.name = this.#string();
    this.#blank();
    if (this.#text[this.#at++] !== ':') throw new SyntaxError();
  }

  /** Puts a value where it belongs, and closes what it was the last of. */
  #take(value: string): void {
    let text = value;
    for (let open = this.#open; open !== undefined; open = this.#open) {
      if (open.kind === 'list') addItem(open, text);
      else this.#addMember(open, text);
      this.#blank();
      const next = this.#text[this.#at++];
      if (next === ',') {
        if (open.kind === 'object') this.#name(open);
        return;
      }
      if (next !== (open.kind === 'list' ? ']' : '}')) throw new SyntaxError();
      text = open.kind === 'list' ? `[${open.text}${open.items.join(',')}]` : objectText(open);
      this.#open = open.within;
      this.#depth--;
    }
    this.#blank();
    this.#over = true;
    if (this.#at === this.#text.length) this.canonical = text;
  }

  #addMember({ within, members, name }: OpenObject, text: string): void {
    const kept = within === undefined ? this.#edit(JSON.parse(name) as string, text) : text;
    if (kept !== undefined) members.push([name, kept]);
  }

  /** A string without escapes is its own canonical form; others are read and written again. */
  #string(): string {
    const start = this.#at;
    let end = this.#text.indexOf('"', start + 1);
    while (end !== -1 && this.#escaped(end, start)) end = this.#text.indexOf('"', end + 1);
    if (end === -1) throw new SyntaxError();
    this.#at = end + 1;
    const text = this.#text.slice(start, this.#at);
    return text.includes('\\') ? JSON.stringify(JSON.parse(text)) : text;
  }

  #escaped(quote: number, start: number): boolean {
    let slashes = 0;
    for (let i = quote - 1; i > start && this.#text[i] === '\\'; i--) slashes++;
    return slashes % 2 === 1;
  }

  #literal(): string {
    LITERAL.lastIndex = this.#at;
    const text = LITERAL.exec(this.#text)?.[0];
    if (text === undefined) throw new SyntaxError();
    this.#at += text.length;
    const first = text[0]!;
    if (first === 't' || first === 'f' || first === 'n') return text;
    const digits = text.replace(/[eE].*$/, '').replace(/[^0-9]/g, '').length;
    const value = Number(text);
    return digits <= EXACT_DIGITS && Number.isFinite(value) && (value !== 0 || /^-?[0.]+$/.test(text))
      ? String(value)
      : text;
  }

  /** The next token of a value that is too deep to be sorted: it stays as it was written, up to where it closes. */
  #deepToken(): void {
    this.#blank();
    const first = this.#text[this.#at];
    if (first === undefined) throw new SyntaxError();
    if (first === '"') this.#string();
    else if ('{['.includes(first)) this.#brackets++;
    else if ('}]'.includes(first)) this.#brackets--;
    else if (!',:'.includes(first)) this.#literal();
    if ('{[}],:'.includes(first)) this.#at++;
    if (this.#brackets > 0) return;
    const text = this.#text.slice(this.#deepFrom, this.#at);
    this.#deepFrom = -1;
    this.#brackets = 0;
    this.#take(text);
  }

  #blank(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.#at++;
    }
  }
}

const LITERAL = /true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function addItem(list: OpenList, text: string): void {
  if (list.items.length === JOINED_ITEMS) {
    list.text += `${list.items.join(',')},`;
    list.items = [];
  }
  list.items.push(text);
}

function objectText({ members }: OpenObject): string {
  members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${members.map(([name, value]) => `${name}:${value}`).join(',')}}`;
}
