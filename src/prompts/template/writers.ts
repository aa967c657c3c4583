// Where a rendered template's pieces go. Nothing is escaped for HTML: prompts are read by models. In JSON, what comes
// from a variable can neither leave the string that it lands in nor add a member next to it.
import { invalidField, validationFailed } from '../../lib/errors.ts';

/** What a template may become longer than twice its variables, in UTF-16 units: images are variables, too. */
const MAX_GROWTH = 4 * 1024 * 1024;

/** The longest text that a template may become with its variables. */
export function longestText(variables: Readonly<Record<string, string>>): number {
  return MAX_GROWTH + 2 * Object.values(variables).reduce((sum, { length }) => sum + length, 0);
}

/** Takes a template's pieces in order. */
export interface Writer {
  /** The template's own text. */
  literal(text: string): void;
  /** The value of a tag. */
  value(name: string, text: string): void;
  /** Runs `write` for a partial's pieces. */
  partial(write: () => void): void;
  /** Everything written. */
  text(): string;
}

class Pieces {
  readonly #most: number;
  #text = '';

  constructor(most: number) {
    this.#most = most;
  }

  push(text: string): void {
    if (this.#text.length + text.length > this.#most)
      throw invalidField(
        'variables',
        `the template becomes longer than ${this.#most} characters with these`,
        'output',
      );
    this.#text += text;
  }

  text(): string {
    return this.#text;
  }
}

/** Plain text: pieces as they are. @param most of its characters */
export function textWriter(most: number): Writer {
  const pieces = new Pieces(most);
  return {
    literal: (text) => pieces.push(text),
    value: (_, text) => pieces.push(text),
    partial: (write) => write(),
    text: () => pieces.text(),
  };
}

/**
 * JSON text. Inside of a string values are escaped, and so are partials, which are plain text there; elsewhere a
 * value must be JSON as a whole, and a partial is a part of the template.
 */
export function jsonWriter(most: number): Writer {
  const pieces = new Pieces(most);
  let inString = false;
  let afterBackslash = false;
  /** Partials within strings. */
  let quoted = 0;
  return {
    literal(text) {
      if (quoted > 0) return pieces.push(escaped(text));
      for (let i = 0; i < text.length; i++) {
        const char = text.charCodeAt(i);
        if (afterBackslash) afterBackslash = false;
        else if (char === QUOTE) inString = !inString;
        else if (inString && char === BACKSLASH) afterBackslash = true;
      }
      pieces.push(text);
    },
    value(name, text) {
      refuseBackslash();
      if (inString) pieces.push(escaped(text));
      else if (isJson(text)) pieces.push(text);
      else
        throw validationFailed([
          {
            field: `variables.${name}`,
            rule: 'json',
            message: 'must be JSON: the template has it outside of quotes',
          },
        ]);
    },
    partial(write) {
      refuseBackslash();
      if (!inString) return write();
      quoted++;
      write();
      quoted--;
    },
    text: () => pieces.text(),
  };

  /** A backslash of the template would take the escape of what follows. */
  function refuseBackslash(): void {
    if (afterBackslash) throw invalidField('string', 'a backslash stands before a tag', 'template');
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
