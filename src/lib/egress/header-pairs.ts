// Headers as flat pairs of names and values.

/** The pairs without those of these names (lower case). */
export function headerWithout(pairs: readonly string[], names: ReadonlySet<string>): string[] {
  return pairs.filter((_, i) => !names.has(pairs[i - (i % 2)]!.toLowerCase()));
}

/** The last value of a header by lower-case name. */
export function headerIn(pairs: readonly string[], name: string): string | undefined {
  for (let i = pairs.length - 2; i >= 0; i -= 2) if (pairs[i]!.toLowerCase() === name) return pairs[i + 1];
  return undefined;
}
