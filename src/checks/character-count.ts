// default.characterCount: Unicode characters (code points), so that an emoji outside the basic plane is one.
import { countingCheck } from './contract/count.ts';

export const characterCount = countingCheck({
  id: 'default.characterCount',
  min: 'minCharacters',
  max: 'maxCharacters',
  most: 9_999_999,
  member: 'characterCount',
  noun: 'characters',
  work: 'characters',
});
