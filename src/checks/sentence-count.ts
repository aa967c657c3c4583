// default.sentenceCount: sentences end with ., !, ? or their like at the end of a word, so that 3.14, a.b or ... are
// no ends of their own. A last piece without an end is a sentence too.
import { countingCheck } from './contract/count.ts';

export const sentenceCount = countingCheck({
  id: 'default.sentenceCount',
  min: 'minSentences',
  max: 'maxSentences',
  most: 99_999,
  member: 'sentenceCount',
  noun: 'sentences',
  mayFall: true,
  work: 'sentences',
});
