// The rules on the contract's fields. Nearly every message is known to keep them without the engine (quick-check.ts), which
// takes 15 MB: it is loaded when it is first needed, and compiles the rules of a message type with its first message.
import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Validator } from '@bufbuild/protovalidate';
import type { RuleEngine } from './rule-engine.ts';

const load = createRequire(import.meta.url);
const ENGINE = new URL('./rule-engine.ts', import.meta.url);

/** Messages with more parts than this are judged up to their first violation: telling all of them takes long. */
const MANY_PARTS = 1000;

/** A validator whose engine may not be loaded yet. */
export interface LazyValidator extends Validator {
  /** Undefined once the engine is loaded; else loads it in turns of the event loop: at once it takes a tenth of a second. */
  readonly ready?: () => Promise<void> | undefined;
}

/** A validator of the contract's messages; one serves a whole process. Its engine is loaded with the first message that needs it. */
export function contractValidator(): LazyValidator {
  let engine: RuleEngine | undefined;
  const rules = (): RuleEngine => {
    engine ??= (load(fileURLToPath(ENGINE)) as typeof import('./rule-engine.ts')).ruleEngine();
    return engine;
  };
  let loading: Promise<void> | undefined;
  return {
    ready() {
      if (engine !== undefined) return undefined;
      loading ??= import(ENGINE.href).then(async () => {
        await nextTurn();
        rules();
        await nextTurn();
      });
      return loading;
    },
    validate: (schema, message) =>
      (hasManyParts(message) ? rules().first : rules().all).validate(
        schema,
        withTextsCut(message) as typeof message,
      ),
  };
}

/**
 * Counting the characters of a text takes 10 ms a megabyte. Longer texts are judged by their beginning: it is longer than
 * the contract's largest max_len, and rules without one are told by it too (min_len, lists of words, short patterns).
 */
export const JUDGED_CHARS = 1_048_576;

/** The same value, or a copy in which no text is longer than `JUDGED_CHARS`. */
function withTextsCut(value: unknown): unknown {
  if (typeof value === 'string') return value.length > JUDGED_CHARS ? value.slice(0, JUDGED_CHARS) : value;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const [name, member] of Object.entries(value)) {
    const cut = withTextsCut(member);
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
