// Distinguishes hooks that do different things: an answer that passed one of them passed no other.
import { createHash } from 'node:crypto';
import type { Hook } from './hook.ts';

const marks = new WeakMap<Hook, string>();

/** Notes what a hook was read from. */
export function markHook(hook: Hook, source: unknown): Hook {
  const text = JSON.stringify([hook.event, hook.type, source]);
  marks.set(hook, createHash('sha256').update(text).digest('hex').slice(0, 32));
  return hook;
}

/** The same text for hooks that were read from the same JSON. */
export function marksOf(hooks: readonly Hook[]): string {
  return hooks.map((hook) => marks.get(hook) ?? hook.id).join(',');
}
