// default.characterCount: Unicode characters (code points), so that an emoji outside the basic plane is one.
import { countingCheck } from './contract/count.ts';

export const characterCount = countingCheck({
  id: 'default.characterCount',
  min: 'minCharacters',
  max: 'maxCharacters',
  most: 9_999_999,
  member: 'characterCount',
  noun: 'characters',
  count: countCharacters,
});

/** Code points of a text; a lone surrogate counts as one. */
export function countCharacters(text: string): number {
  let characters = text.length;
  for (let i = 1; i < text.length; i++) {
    const low = text.charCodeAt(i);
    if (low < 0xdc00 || low > 0xdfff) continue;
    const high = text.charCodeAt(i - 1);
    if (high >= 0xd800 && high <= 0xdbff) characters--;
  }
  return characters;
}
