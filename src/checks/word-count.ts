// default.wordCount: pieces between white space. An empty text has none.
import { countingCheck } from './contract/count.ts';

export const wordCount = countingCheck({
  id: 'default.wordCount',
  min: 'minWords',
  max: 'maxWords',
  most: 99_999,
  member: 'wordCount',
  noun: 'words',
  work: 'words',
});
