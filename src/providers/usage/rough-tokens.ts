// Tokens without a tokenizer.

/** Characters of a text, or bytes of JSON, for one token, as texts in European languages have; others have fewer. */
const LENGTH_PER_TOKEN = 4;

/** @param length in characters or bytes */
export function roughTokens(length: number): number {
  return Math.ceil(length / LENGTH_PER_TOKEN);
}
