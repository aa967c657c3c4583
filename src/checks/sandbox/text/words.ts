// Words: pieces between white space. An empty text has none.

/** Words of a text. */
export function countWords(text: string): number {
  let words = 0;
  for (const _ of text.matchAll(/\S+/g)) words++;
  return words;
}
