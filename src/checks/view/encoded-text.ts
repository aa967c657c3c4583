// Files that hold text and stand in base64 in a body: what a model is given to read, as if it stood in the body itself.
import { MOST_CHARACTERS } from './most-characters.ts';

/** Media types of texts; others are images, sounds, and documents of formats of their own. */
const TEXT_TYPE =
  /^(?:text\/|application\/(?:[\w.+-]*(?:json|xml|yaml|csv|markdown)|(?:x-)?(?:ndjson|javascript|typescript|python|sh|sql|toml|rtf|tex|latex))\s*(?:;|$))/i;
/** Endings of such files' names, and the formats of Bedrock's documents. */
const TEXT_ENDING =
  /(?:^|\.)(?:txt|text|md|markdown|csv|tsv|html?|xml|ya?ml|json|jsonl|ndjson|log|rtf|tex|toml|ini|sql|sh|py|js|ts|css|java|c|cc|cpp|h|cs|go|rb|rs|php)$/i;
const CHARSET = /;\s*charset\s*=\s*"?(?!utf-?8\b|us-ascii\b|ascii\b)/i;
const DATA_URL = /^data:([^,]{0,512}),/i;
/** Characters of base64 that may hold as much text as a check looks at. */
const MOST_ENCODED = Math.ceil((MOST_CHARACTERS * 4) / 3) + 4;

/** A text that was found in base64. */
export interface EncodedText {
  readonly text: string;
  /** What stands in front of the base64. */
  readonly head: string;
}

/** Whether a file of this media type or name holds text. */
export function isTextFile(type: unknown, name?: unknown): boolean {
  if (typeof type === 'string' && TEXT_TYPE.test(type)) return true;
  return typeof name === 'string' && TEXT_ENDING.test(name);
}

/** Base64 of a text file. @returns undefined for text that cannot be read: too long, or in another encoding */
export function decodedText(data: string, type: unknown, head = ''): EncodedText | undefined {
  const isUnread = typeof type === 'string' && CHARSET.test(type);
  if (isUnread || data.length - head.length > MOST_ENCODED) return undefined;
  const text = Buffer.from(data.slice(head.length), 'base64').toString('utf8');
  // Other encodings have null bytes between the letters.
  return text.includes('\0') || text.includes('\uFFFD') ? undefined : { text, head };
}

/** The head of a data URL and its type; undefined for other texts. */
export function dataUrlOf(value: string): { readonly head: string; readonly type: string } | undefined {
  const found = DATA_URL.exec(value.slice(0, 520));
  return found === null ? undefined : { head: found[0], type: found[1] ?? '' };
}

/** The text in base64, as it stood. */
export function encodedText(text: string, head: string): string {
  return head + Buffer.from(text, 'utf8').toString('base64');
}
