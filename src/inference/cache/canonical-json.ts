// JSON text in one form, so that texts that say the same are the same text: members sorted, white space gone,
// strings and numbers spelled one way. Nothing is parsed into numbers that cannot hold it: a literal that a double
// would round stays as it was written.

/** Nested deeper than this, a value stays as it was written. */
const MAX_DEPTH = 200;
/** Digits that a double always gives back. */
const EXACT_DIGITS = 15;

/**
 * The text's canonical form; undefined when it is no JSON. Members of the same name keep their order, because
 * which of them counts is the reader's choice. `edit` may replace a value of the top object (by its member's name)
 * with another text, or leave the member out by answering undefined.
 */
export function canonicalJson(
  text: string,
  edit: (name: string, canonical: string) => string | undefined = (_, canonical) => canonical,
): string | undefined {
  const reader = new Reader(text, edit);
  return reader.whole();
}

class Reader {
  readonly #text: string;
  readonly #edit: (name: string, canonical: string) => string | undefined;
  #at = 0;

  constructor(text: string, edit: (name: string, canonical: string) => string | undefined) {
    this.#text = text;
    this.#edit = edit;
  }

  whole(): string | undefined {
    try {
      const value = this.#value(0);
      this.#blank();
      return this.#at === this.#text.length ? value : undefined;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  #value(depth: number): string {
    this.#blank();
    if (depth > MAX_DEPTH) return this.#asWritten();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      default:
        return this.#literal();
    }
  }

  #object(depth: number): string {
    const members: [name: string, text: string][] = [];
    this.#at++;
    this.#blank();
    if (this.#text[this.#at] === '}') {
      this.#at++;
      return '{}';
    }
    for (;;) {
      this.#blank();
      if (this.#text[this.#at] !== '"') throw new SyntaxError();
      const name = this.#string();
      this.#expect(':');
      const value = this.#value(depth + 1);
      const kept = depth === 0 ? this.#edit(JSON.parse(name) as string, value) : value;
      if (kept !== undefined) members.push([name, kept]);
      if (this.#closes('}')) break;
    }
    members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${members.map(([name, value]) => `${name}:${value}`).join(',')}}`;
  }

  #array(depth: number): string {
    const items: string[] = [];
    this.#at++;
    this.#blank();
    if (this.#text[this.#at] === ']') {
      this.#at++;
      return '[]';
    }
    do items.push(this.#value(depth + 1));
    while (!this.#closes(']'));
    return `[${items.join(',')}]`;
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

  /** A value too deep to be sorted: its own text, up to where it closes. */
  #asWritten(): string {
    const start = this.#at;
    let open = 0;
    for (;;) {
      this.#blank();
      const first = this.#text[this.#at];
      if (first === undefined) throw new SyntaxError();
      if (first === '"') this.#string();
      else if ('{['.includes(first)) open++;
      else if ('}]'.includes(first)) open--;
      else if (!',:'.includes(first)) this.#literal();
      if ('{[}],:'.includes(first)) this.#at++;
      if (open <= 0) return this.#text.slice(start, this.#at);
    }
  }

  #closes(bracket: '}' | ']'): boolean {
    this.#blank();
    const next = this.#text[this.#at++];
    if (next !== ',' && next !== bracket) throw new SyntaxError();
    return next === bracket;
  }

  #expect(character: string): void {
    this.#blank();
    if (this.#text[this.#at++] !== character) throw new SyntaxError();
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
