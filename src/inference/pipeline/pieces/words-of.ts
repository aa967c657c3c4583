// What a content says, as a text.

/** Levels of parts within parts that are looked into. */
const MOST_LEVELS = 8;

/** What a content says. Some providers give it in parts, although the contract has a text there. */
export function wordsOf(content: unknown, levels: number = MOST_LEVELS): string {
  if (typeof content === 'string') return content;
  if (typeof content !== 'object' || content === null || levels === 0) return '';
  if (Array.isArray(content)) return content.map((part) => wordsOf(part, levels - 1)).join('');
  const { text, thinking, refusal } = content as Readonly<Record<string, unknown>>;
  return [text, thinking, refusal].map((part) => wordsOf(part, levels - 1)).join('');
}
