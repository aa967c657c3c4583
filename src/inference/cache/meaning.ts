// What of a request may be compared by meaning, and what must agree to the letter. Only what the user says last is
// compared: everything before it, the system's words, tools and parameters are part of the scope, and so are the
// numbers, addresses and links in the text itself, which vectors hardly tell apart ("invoice 17" from "invoice 18").
import { canonicalJson } from './canonical-json.ts';
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

const LITERALS = /https?:\/\/\S+|\S+@\S+|[+-]?\d[\d.,:/-]*/g;

/**
 * The meaning of a chat (`messages` whose last ones are the user's, text only) or of a text completion (`prompt`).
 * Undefined for anything else: pictures, sound, requests for images, an answer of a tool at the end, no text, more than
 * MAX_MESSAGES messages of the user at the end, more than MAX_TEXT_BYTES.
 *
 * @param embeddings who makes the vectors: those of two models cannot be compared
 */
export function meaningOf(
  subject: CacheSubject,
  namespace: string | undefined,
  secret: Uint8Array | undefined,
  embeddings: string,
): Meaning | undefined {
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
    rest = canonicalJson(given, (name, canonical) => {
      if (name === 'messages') return withoutLastTexts(JSON.parse(canonical), canonical, texts);
      if (name === 'prompt') return withoutText(JSON.parse(canonical), canonical, texts);
      return withoutDelivery(name, canonical);
    });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const text = texts.join('\n\n').trim();
  if (rest === undefined || text === '' || Buffer.byteLength(text) > MAX_TEXT_BYTES) return undefined;
  const literals = text.match(LITERALS) ?? [];
  return { text, scope: scopeKey(subject, namespace, secret, rest, [embeddings, ...literals]) };
}

interface ChatMessage {
  readonly role?: unknown;
  readonly content?: unknown;
}

/** The messages with the texts of the user's last ones taken out. */
function withoutLastTexts(messages: unknown, canonical: string, texts: string[]): string {
  if (!Array.isArray(messages)) return canonical;
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
  return JSON.stringify([elementsBefore(canonical, before), emptied]);
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

/** The canonical texts of an array's first elements. */
function elementsBefore(canonicalArray: string, count: number): string {
  let depth = 0;
  let left = count;
  for (let i = 0; i < canonicalArray.length && left > 0; i++) {
    const character = canonicalArray[i]!;
    if (character === '"') i = closingQuote(canonicalArray, i);
    else if ('[{'.includes(character)) depth++;
    else if (']}'.includes(character)) depth--;
    if (depth === 1 && character === ',' && --left === 0) return canonicalArray.slice(0, i);
  }
  return count === 0 ? '' : canonicalArray;
}

function closingQuote(text: string, open: number): number {
  for (let i = open + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i;
  }
  return text.length;
}
