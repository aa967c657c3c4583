// What of a request may be compared by meaning, and what must agree to the letter. Only what the user says last is
// compared: everything before it, the system's words, tools and parameters are part of the scope, and so are the
// numbers, addresses and links in the text itself, which vectors hardly tell apart ("invoice 17" from "invoice 18").
import { canonicalJsonInTurns } from './canonical-json.ts';
import { bodyString, type CacheSubject, MAX_CANONICAL_BYTES, scopeKey, withoutDelivery } from './key.ts';

/** A request's text and the scope in which it is compared. */
export interface Meaning {
  readonly text: string;
  /** 64 hexadecimal digits: as the answer's key, without the text. */
  readonly scope: string;
}

/** Messages of the user at the end that are compared; more are not. */
export const MAX_MESSAGES = 4;
/**
 * UTF-8 bytes of text: some 8000 tokens of European text, which is what embedding models take. What is too long for
 * the model all the same, its provider refuses, and that is a miss.
 */
export const MAX_TEXT_BYTES = 24 * 1024;

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const WORDS = /\S+/g;
const LITERALS = /https?:\/\/\S+|[+-]?\d[\d.,:/-]*/g;

/**
 * The meaning of a chat (`messages` whose last ones are the user's, text only) or of a text completion (`prompt`).
 * Undefined for anything else: pictures, sound, requests for images, an answer of a tool at the end, no text, more than
 * MAX_MESSAGES messages of the user at the end, more than MAX_TEXT_BYTES.
 *
 * @param embeddings who makes the vectors: those of two models cannot be compared
 */
export async function meaningOf(
  subject: CacheSubject,
  namespace: string | undefined,
  secret: Uint8Array | undefined,
  embeddings: string,
): Promise<Meaning | undefined> {
  const { body } = subject.request;
  // The image of another prompt is another image.
  if (subject.operation === 'images') return undefined;
  if (body === undefined || body.length > MAX_CANONICAL_BYTES) return undefined;
  const given = bodyString(body);
  // Bytes that are no text look all the same once they are decoded.
  if (typeof body !== 'string' && given.includes('\ufffd')) return undefined;
  const texts: string[] = [];
  let rest: string | undefined;
  try {
    rest = await canonicalJsonInTurns(given, (name, canonical) => {
      if (name === 'messages') return withoutLastTexts(canonical, texts);
      if (name === 'prompt') return withoutText(JSON.parse(canonical), canonical, texts);
      return withoutDelivery(name, canonical);
    });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const text = texts.join('\n\n').trim();
  if (rest === undefined || text === '' || Buffer.byteLength(text) > MAX_TEXT_BYTES) return undefined;
  const more = [embeddings, ...literalsOf(text)];
  return { text, scope: scopeKey(subject, namespace, secret, rest, more) };
}

/** Addresses, links and numbers. Word by word: a pattern for addresses over the whole text takes its length squared. */
export function literalsOf(text: string): readonly string[] {
  return (text.match(WORDS) ?? []).flatMap((word) =>
    word.lastIndexOf('@', word.length - 2) > 0 ? [word] : (word.match(LITERALS) ?? []),
  );
}

interface ChatMessage {
  readonly role?: unknown;
  readonly content?: unknown;
}

/** The messages with the texts of the user's last ones taken out. @param canonical of the list */
function withoutLastTexts(canonical: string, texts: string[]): string {
  if (!canonical.startsWith('[')) return canonical;
  const starts = lastStarts(canonical, MAX_MESSAGES + 1);
  const messages = JSON.parse(`[${canonical.slice(starts[0] ?? 1)}`) as unknown[];
  const isUsers = (message: unknown): boolean => (message as ChatMessage | null)?.role === 'user';
  const before = messages.findLastIndex((message) => !isUsers(message)) + 1;
  const last = messages.slice(before) as ChatMessage[];
  if (last.length === 0 || last.length > MAX_MESSAGES) return canonical;
  const found: string[] = [];
  const emptied: unknown[] = [];
  for (const message of last) {
    const content = withoutTexts(message.content, found);
    if (content === undefined) return canonical;
    emptied.push({ ...message, content });
  }
  texts.push(...found);
  // The messages before keep their own text: numbers in them are not read and written again.
  const end = starts[before]! - 1;
  return JSON.stringify([end === 0 ? '' : canonical.slice(0, end), emptied]);
}

function withoutText(prompt: unknown, canonical: string, texts: string[]): string {
  if (typeof prompt !== 'string') return canonical;
  texts.push(prompt);
  return 'null';
}

/** Content with its texts emptied; undefined when there is more in it than text. */
function withoutTexts(content: unknown, texts: string[]): unknown {
  if (typeof content === 'string') {
    texts.push(content);
    return 'text';
  }
  if (!Array.isArray(content)) return undefined;
  const parts: unknown[] = [];
  for (const part of content as { readonly type?: unknown; readonly text?: unknown }[]) {
    if (part?.type !== 'text' || typeof part.text !== 'string') return undefined;
    texts.push(part.text);
    parts.push({ ...part, text: '' });
  }
  return parts;
}

/** Where the last items of a canonical list begin, so many at the most. */
function lastStarts(list: string, most: number): readonly number[] {
  const starts: number[] = [];
  if (list.charCodeAt(1) === CLOSE_BRACKET) return starts;
  let depth = 0;
  for (let i = 0; i < list.length; i++) {
    const code = list.charCodeAt(i);
    if (code === QUOTE) i = closingQuote(list, i);
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) depth++;
    else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--;
    // The bracket that opens the list, or a comma of its own.
    if (depth === 1 && (i === 0 || code === COMMA)) {
      starts.push(i + 1);
      if (starts.length > 2 * most) starts.splice(0, most);
    }
  }
  return starts.slice(-most);
}

function closingQuote(text: string, open: number): number {
  for (let i = open + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i++;
    else if (code === QUOTE) return i;
  }
  return text.length;
}
