// What the turns of one conversation have in common, and what providers' prompt caches make of it.
import { createHash } from 'node:crypto';
import { roughTokens } from '../../providers/usage/rough-tokens.ts';

type Json = Readonly<Record<string, unknown>>;

/** Providers cache a prompt from so many tokens on (their documents on prompt caching): a family, and what follows it; the first row counts. */
const MINIMA: readonly (readonly [family: string, version: RegExp, tokens: number])[] = [
  ['claude', /(?:opus-4[.-]?[5-9]|haiku-4[.-]?[5-9])/, 4096],
  ['claude', /haiku/, 2048],
  ['gemini', /pro/, 4096],
  ['gemini', /^/, 1024],
];
const USUAL_MINIMUM = 1024;
/** Life of a cached prompt after each use, in milliseconds, where the request says nothing else. */
const USUAL_LIFE_MS = 300_000;
const LONG_LIFE_MS = 3_600_000;
/** OpenAI's `prompt_cache_retention: "24h"`. */
const DAY_MS = 86_400_000;
/** Values that are walked in one request, and characters of one text that are told apart. */
const MOST_VALUES = 50_000;
const MOST_CHARACTERS = 65_536;

/** Tokens of a prompt from which on the model's provider caches it. */
export function cacheMinimum(model: string): number {
  const name = model.toLowerCase();
  for (const [family, version, tokens] of MINIMA) {
    const at = name.indexOf(family);
    if (at !== -1 && version.test(name.slice(at + family.length))) return tokens;
  }
  return USUAL_MINIMUM;
}

/** Of the whole prompt: what it says and what it tells of tools, about. */
export function promptTokens(request: Json): number {
  const walk = new Walk();
  for (const name of PROMPT) walk.read(request[name]);
  return roughTokens(walk.characters);
}

/** How long the prompt stays cached after each use, in milliseconds. */
export function lifeOf(request: Json): number {
  if (request.prompt_cache_retention === '24h') return DAY_MS;
  const walk = new Walk();
  for (const name of [...PROMPT, 'cache_control']) walk.read(request[name], name);
  return walk.isLong ? LONG_LIFE_MS : USUAL_LIFE_MS;
}

/** Members of requests that make the prompt: of chat completions, Messages, Responses, generateContent and Converse. */
const PROMPT = [
  ...['system', 'instructions', 'systemInstruction', 'system_instruction', 'tools'],
  ...['messages', 'input', 'contents', 'prompt'],
];
const TURNS: ReadonlySet<string> = new Set(['messages', 'input', 'contents']);

/**
 * A digest of the system prompt, the tools and the messages up to the first one of the user, each up to its last
 * breakpoint; undefined where the request has no messages. Breakpoints themselves move and do not count.
 */
export function prefixDigest(request: Json): string | undefined {
  const walk = new Walk(createHash('sha256'));
  let has = false;
  for (const name of PROMPT) {
    const value = request[name];
    if (value === undefined || value === null) continue;
    if (TURNS.has(name)) has = true;
    walk.mark(name);
    walk.read(Array.isArray(value) ? (TURNS.has(name) ? opening(value) : upToBreakpoint(value)) : value);
  }
  return has ? walk.digest() : undefined;
}

/** A name that the request gives its conversation, as OpenAI's `prompt_cache_key`. */
export function givenName(request: Json): string | undefined {
  const { prompt_cache_key: key, conversation } = request;
  if (typeof key === 'string' && key !== '') return `key ${key}`;
  const id =
    typeof conversation === 'object' && conversation !== null ? (conversation as Json).id : conversation;
  return typeof id === 'string' && id !== '' ? `conversation ${id}` : undefined;
}

/** The messages up to the first of the user; all of them where none is. */
function opening(messages: readonly unknown[]): readonly unknown[] {
  const at = messages.findIndex((one) => {
    const role = (one as Json | null)?.role;
    return role === 'user' || role === undefined;
  });
  return messages.slice(0, at === -1 ? messages.length : at + 1).map((one) => {
    const content = (one as Json | null)?.content;
    return Array.isArray(content) ? { ...(one as Json), content: upToBreakpoint(content) } : one;
  });
}

function upToBreakpoint(blocks: readonly unknown[]): readonly unknown[] {
  const last = blocks.findLastIndex((block) => {
    const { cache_control: mark, cachePoint } = (block ?? {}) as Json;
    return (mark ?? cachePoint ?? null) !== null;
  });
  return last === -1 ? blocks : blocks.slice(0, last + 1);
}

/** Walks JSON within bounds. */
class Walk {
  characters = 0;
  isLong = false;
  #left = MOST_VALUES;
  readonly #hash: ReturnType<typeof createHash> | undefined;

  constructor(hash?: ReturnType<typeof createHash>) {
    this.#hash = hash;
  }

  mark(text: string): void {
    this.#hash?.update(`\0${text}\0`);
  }

  read(value: unknown, name = ''): void {
    if (this.#left-- <= 0) return;
    if (name === 'cache_control' || name === 'cachePoint') {
      if ((value as Json | null)?.ttl === '1h') this.isLong = true;
      return;
    }
    if (typeof value === 'string') {
      this.characters += value.length;
      this.#hash?.update(`s${value.length}:${value.slice(0, MOST_CHARACTERS)}`);
    } else if (Array.isArray(value)) {
      this.mark('[');
      for (const one of value) this.read(one);
      this.mark(']');
    } else if (typeof value === 'object' && value !== null) {
      this.mark('{');
      for (const [key, one] of Object.entries(value)) {
        if (key !== 'cache_control' && key !== 'cachePoint') {
          this.characters += key.length;
          this.mark(key);
        }
        this.read(one, key);
      }
      this.mark('}');
    } else if (value !== undefined) this.#hash?.update(String(value));
  }

  digest(): string {
    return this.#hash!.digest('hex');
  }
}
