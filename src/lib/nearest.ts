// The word that was probably meant.

/** Longer words are compared by their beginnings. */
const MOST = 64;

/** The nearest of some words, when it is near enough to be meant; undefined: none is. */
export function nearest(given: string, words: Iterable<string>): string | undefined {
  const asked = given.toLowerCase().slice(0, MOST);
  let best: string | undefined;
  let least = Math.max(1, Math.floor(asked.length / 3)) + 1;
  for (const word of words) {
    const far = distance(asked, word.toLowerCase().slice(0, MOST));
    if (far < least) [best, least] = [word, far];
  }
  return best;
}

/** `; did you mean X?`, or nothing. */
export function didYouMean(given: string, words: Iterable<string>): string {
  const meant = nearest(given, words);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** Insertions, deletions, replacements and swaps of neighbours. */
export function distance(a: string, b: string): number {
  let [older, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, older[j - 2]! + 1);
      row.push(least);
    }
    [older, last] = [last, row];
  }
  return last[b.length]!;
}
