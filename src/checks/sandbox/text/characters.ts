// Unicode characters (code points), so that an emoji outside the basic plane is one.

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
