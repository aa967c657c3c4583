// default.wordCount: pieces between white space. An empty text has none.
import { countingCheck } from './contract/count.ts';

export const wordCount = countingCheck({
  id: 'default.wordCount',
  min: 'minWords',
  max: 'maxWords',
  most: 99_999,
  member: 'wordCount',
  noun: 'words',
  count: countWords,
});

/** Words of a text. */
export function countWords(text: string): number {
  let words = 0;
  for (const _ of text.matchAll(/\S+/g)) words++;
  return words;
}
