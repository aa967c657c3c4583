// What is shown of a text or a value that was found: never so much that handing it over costs time of its own.

const LONGEST_TEXT = 1000;
const LONGEST_VALUE = 16_384;

/** The beginning of a text. */
export function excerptOfText(text: string | undefined): string {
  return (text ?? '').slice(0, LONGEST_TEXT);
}

/** A JSON value as it is when it is short; else the beginning of its text. */
export function excerptOfValue(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  return text.length <= LONGEST_VALUE ? value : `${text.slice(0, LONGEST_TEXT)}...`;
}
