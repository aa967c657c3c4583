// Texts as members of documents: the server keeps well-formed Unicode alone, and a caller's text may have half a pair of
// surrogates.

/** A noncharacter, which meaningful text never has. */
const MARK = '\u{10fffe}';

/** A text as it is stored and looked for; no other text is stored as the same. */
export function keptText(text: string): string {
  if (text.isWellFormed() && !text.includes(MARK)) return text;
  // A pair is one character here, and half a pair too.
  return Array.from(text, (character) => {
    if (character === MARK) return MARK + MARK;
    return character.isWellFormed() ? character : MARK + character.charCodeAt(0).toString(16);
  }).join('');
}

/** The text that is stored so. */
export function textOfKept(kept: string): string {
  if (!kept.includes(MARK)) return kept;
  return kept.replace(/\u{10fffe}(\u{10fffe}|[0-9a-f]{4})/gu, (_, of: string) =>
    of === MARK ? MARK : String.fromCharCode(Number.parseInt(of, 16)),
  );
}
