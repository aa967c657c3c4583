// The rules on the contract's fields. Nearly every message is known to keep them without the engine (quick-check.ts), which
// takes 15 MB: it is loaded when it is first needed, and compiles the rules of a message type with its first message.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { DescMessage } from '@bufbuild/protobuf';
import type { Validator } from '@bufbuild/protovalidate';
import { nextTurn } from '../lib/time-slices.ts';

const load = createRequire(import.meta.url);
const ENGINE = new URL('./rule-engine.ts', import.meta.url);

/** Messages with more parts than this are judged up to their first violation: telling all of them takes long. */
const MANY_PARTS = 1000;

/** A validator whose engine may not be loaded yet, and may not know a message type's rules. */
export interface LazyValidator extends Validator {
  /**
   * Undefined once it knows the rules; else loads the engine and compiles them, in turns of the event loop: at once they
   * take a tenth of a second.
   * @param hasManyParts whether the message has many parts: another engine judges it
   */
  readonly ready?: (schema: DescMessage, hasManyParts: boolean) => Promise<void> | undefined;
}

/** A validator of the contract's messages. Its engine is loaded with the first message that needs it. */
export function contractValidator(): LazyValidator {
  const all = new LazyEngine(false);
  const first = new LazyEngine(true);
  return {
    ready: (schema, many) => (many ? first : all).ready(schema),
    validate: (schema, message) =>
      (hasManyParts(message) ? first : all).rules.validate(schema, withTextsCut(message) as typeof message),
  };
}

let shared: LazyValidator | undefined;

/** The process's own validator: gateways that are started in one process share the rules that it has compiled. */
export function processValidator(): LazyValidator {
  shared ??= contractValidator();
  return shared;
}

/** Loads the engine when it is needed, and has it compile the rules of each message type once. */
class LazyEngine {
  readonly #failFast: boolean;
  #rules: Validator | undefined;
  /** Message types whose rules are compiled; a promise where they are being compiled. */
  readonly #types = new Map<DescMessage, Promise<void> | undefined>();

  constructor(failFast: boolean) {
    this.#failFast = failFast;
  }

  /** Loaded at once where it is not yet. */
  get rules(): Validator {
    this.#rules ??= (load(fileURLToPath(ENGINE)) as typeof import('./rule-engine.ts')).ruleEngine(
      this.#failFast,
    );
    return this.#rules;
  }

  ready(schema: DescMessage): Promise<void> | undefined {
    if (!this.#types.has(schema)) {
      const compiled = this.#compile(schema).finally(() => this.#types.set(schema, undefined));
      this.#types.set(schema, compiled);
    }
    return this.#types.get(schema);
  }

  async #compile(schema: DescMessage): Promise<void> {
    const { compileInTurns } = (await import(ENGINE.href)) as typeof import('./rule-engine.ts');
    await nextTurn();
    const { rules } = this;
    await nextTurn();
    await compileInTurns(rules, schema);
  }
}

/**
 * Counting the characters of a text takes 10 ms a megabyte. Longer texts are judged by their beginning: it is longer than
 * the contract's largest max_len, and rules without one are told by it too (min_len, lists of words, short patterns).
 */
export const JUDGED_CHARS = 1_048_576;

/** The same value, or a copy in which no text is longer than `JUDGED_CHARS`. */
function withTextsCut(value: unknown): unknown {
  return hasLongText(value) ? textsCut(value) : value;
}

/** It makes nothing: a message may have 43,000 parts. */
function hasLongText(value: unknown): boolean {
  if (typeof value === 'string') return value.length > JUDGED_CHARS;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  if (Array.isArray(value)) return value.some(hasLongText);
  for (const name in value) if (hasLongText((value as Record<string, unknown>)[name])) return true;
  return false;
}

function textsCut(value: unknown): unknown {
  if (typeof value === 'string') return value.length > JUDGED_CHARS ? value.slice(0, JUDGED_CHARS) : value;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const [name, member] of Object.entries(value)) {
    const cut = textsCut(member);
    if (cut === member) continue;
    copy ??= Array.isArray(value)
      ? ([...value] as unknown as Record<string, unknown>)
      : Object.defineProperties(
          Object.create(Object.getPrototypeOf(value)) as Record<string, unknown>,
          Object.getOwnPropertyDescriptors(value),
        );
    copy[name] = cut;
  }
  return copy ?? value;
}

/** Whether judging a message takes long. Looks at no more than it takes to know. */
export function hasManyParts(message: object): boolean {
  const open: object[] = [message];
  let parts = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (ArrayBuffer.isView(next)) continue;
    const values: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    parts += values.length;
    if (parts > MANY_PARTS) return true;
    for (const value of values) if (typeof value === 'object' && value !== null) open.push(value);
  }
  return false;
}
