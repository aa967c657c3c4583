// The names that someone may have meant.
import { distance } from './nearest.ts';

/** Longer words are no typing errors, and comparing them would take long. */
const LONGEST = 64;
const MOST_NAMES = 3;

/**
 * Up to three of the names that are nearest to a word, the nearest first: those that begin alike, or that differ in a
 * third of their letters at most.
 */
export function nearestNames(word: string, names: Iterable<string>): string[] {
  const asked = plain(word);
  if (asked === '' || asked.length > LONGEST) return [];
  const near: (readonly [name: string, far: number])[] = [];
  for (const name of names) {
    const other = plain(name);
    const begins = asked.length > 2 && (other.startsWith(asked) || asked.startsWith(other));
    const far = begins ? 0.1 : distance(asked, other) / Math.max(asked.length, other.length);
    if (far <= 1 / 3) near.push([name, far]);
  }
  return near
    .sort(([, one], [, other]) => one - other)
    .slice(0, MOST_NAMES)
    .map(([name]) => name);
}

/** `; the nearest: a, b`, or nothing. */
export function theNearest(word: string, names: Iterable<string>): string {
  const near = nearestNames(word, names);
  return near.length === 0 ? '' : `; the nearest: ${near.join(', ')}`;
}

/** Levenshtein's distance. */
export function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}

/** Its letters and digits in the singular: `retries` means `retry`. */
function plain(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/(?<=..)ies$/, 'y')
    .replace(/(?<=...)s$/, '');
}
