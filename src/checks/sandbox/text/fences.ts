// Fenced blocks of a text (CommonMark 0.31, part 4.5).

/** The words after the opening fences of a text; a block that is not closed goes to the end. At most 100. */
export function fencedLanguages(text: string): string[] {
  const found: string[] = [];
  let closing: string | undefined;
  for (const [, fence = '', info = ''] of text.matchAll(/^[ \t]*(`{3,}|~{3,})[ \t]*([^\n]*)$/gm)) {
    if (closing !== undefined) {
      if (fence.startsWith(closing) && info.trim() === '') closing = undefined;
    } else if (!(fence.startsWith('`') && info.includes('`'))) {
      closing = fence;
      const [word = ''] = info.trim().split(/[\s{,:]/, 1);
      if (word !== '' && found.length < 100) found.push(word);
    }
  }
  return found;
}
