// Patterns that users write: judged for their syntax at once, run in the sandbox only.
import type { Pattern } from '../sandbox/sandbox.ts';
import type { Fault } from './parameters.ts';

/** Longest source of a pattern, in characters. */
export const LONGEST_PATTERN = 10_000;

/** Notes a fault when a pattern cannot be read. Reading alone takes linear time; matching is what may not end. */
export function requirePattern({ source, flags }: Pattern, path: string, fault: Fault): void {
  try {
    new RegExp(source, flags);
  } catch (error) {
    fault(
      path,
      `is not a regular expression: ${error instanceof Error ? error.message : 'it cannot be read'}`,
    );
  }
}

/**
 * Whether a match may depend on what stands around it: anchors, word boundaries, look-around. Without them a match in
 * a part of a text is one in the whole.
 */
export function looksAround(source: string): boolean {
  for (let i = 0; i < source.length; i++) {
    const char = source[i];
    if (char === '\\') {
      const next = source[++i];
      if (next === 'b' || next === 'B') return true;
    } else if (char === '[') {
      while (++i < source.length && source[i] !== ']') if (source[i] === '\\') i++;
    } else if (
      char === '^' ||
      char === '$' ||
      (char === '(' && /^\?<?[=!]/.test(source.slice(i + 1, i + 4)))
    ) {
      return true;
    }
  }
  return false;
}
