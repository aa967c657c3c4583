// Patterns that users write: judged for their syntax at once, run in the sandbox only.
import type { Pattern } from '../sandbox/sandbox.ts';
import type { Fault } from './parameters.ts';

/** Longest source of a pattern, in characters. */
export const LONGEST_PATTERN = 10_000;

/** A sign of a pattern with its backslash, or a Unicode property. */
const ESCAPE = /\\(?:[pP]\{([^{}]*)\}|[\s\S])/g;
/** Names of Unicode properties that were looked up. */
const properties = new Map<string, boolean>();
const MOST_PROPERTIES = 1000;

/**
 * Notes a fault when a pattern cannot be read. Reading alone takes linear time, but for Unicode properties, of which
 * each takes a tenth of a millisecond: they are looked up by name. Matching is what may not end.
 */
export function requirePattern({ source, flags }: Pattern, path: string, fault: Fault): void {
  if (source.length > LONGEST_PATTERN) {
    fault(path, `has at most ${LONGEST_PATTERN} characters`);
    return;
  }
  try {
    if (/[uv]/.test(flags)) new RegExp(withoutProperties(source), withoutCase(flags));
    else new RegExp(source, flags);
  } catch (error) {
    fault(
      path,
      `is not a regular expression: ${error instanceof Error ? error.message : 'it cannot be read'}`,
    );
  }
}

/** Upper and lower case of classes take time to put together and change nothing about whether a pattern can be read. */
function withoutCase(flags: string): string {
  return flags.indexOf('i') === flags.lastIndexOf('i') ? flags.replace('i', '') : flags;
}

/** @throws SyntaxError for a property that there is not */
function withoutProperties(source: string): string {
  return source.replace(ESCAPE, (whole, name: string | undefined) => {
    if (name === undefined) return whole;
    let known = properties.get(name);
    if (known === undefined) {
      if (properties.size >= MOST_PROPERTIES) properties.clear();
      known = isProperty(name);
      properties.set(name, known);
    }
    if (!known) throw new SyntaxError(`there is no Unicode property ${name.slice(0, 64)}`);
    return '\\d';
  });
}

function isProperty(name: string): boolean {
  if (!/^[A-Za-z0-9_=]{1,64}$/.test(name)) return false;
  try {
    new RegExp(`\\p{${name}}`, 'v');
    return true;
  } catch {
    return false;
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
