// The words, signs and values of a filter.
import { wrong } from './scim-error.ts';

export interface Token {
  readonly kind: 'word' | 'sign' | 'value';
  readonly text: string;
  /** Of values, and of the words true, false and null. */
  readonly value?: string | number | boolean | null;
  /** Position in the text, from 0. */
  readonly at: number;
}

const PIECE =
  /\s+|(?<sign>[()[\]])|(?<text>"(?:[^"\\]|\\.)*")|(?<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])|(?<word>\.?[A-Za-z$][\w$:.-]*)/y;
const WORD_VALUES: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** @throws ScimError invalidFilter for what belongs to no token */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  PIECE.lastIndex = 0;
  for (let at = 0; at < text.length; at = PIECE.lastIndex) {
    PIECE.lastIndex = at;
    const groups = PIECE.exec(text)?.groups;
    if (groups === undefined) throw wrong('invalidFilter', `filter: cannot be read at position ${at}`);
    const { sign, text: quoted, number, word } = groups;
    if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, at });
    if (quoted !== undefined) tokens.push({ kind: 'value', text: quoted, value: unquoted(quoted, at), at });
    if (number !== undefined) tokens.push({ kind: 'value', text: number, value: Number(number), at });
    if (word !== undefined) tokens.push(wordOf(word, at));
  }
  return tokens;
}

function wordOf(text: string, at: number): Token {
  const value = WORD_VALUES.get(text.toLowerCase());
  return value === undefined ? { kind: 'word', text, at } : { kind: 'word', text, value, at };
}

function unquoted(text: string, at: number): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw wrong('invalidFilter', `filter: the text at position ${at} is no JSON string`);
  }
}
