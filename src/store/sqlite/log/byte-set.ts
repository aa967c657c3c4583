// Which bytes the texts of a column are made of: one bit for each of 256, as hexadecimal digits. A text with another byte
// is in none of them.

const SIZE = 256;

/** The bytes of texts as UTF-8. */
export function bytesIn(texts: readonly string[]): string {
  const seen = new Uint8Array(SIZE);
  const bytes = Buffer.from(texts.join(''), 'utf8');
  for (let i = 0; i < bytes.length; i++) seen[bytes[i] as number] = 1;
  const set = Buffer.alloc(SIZE / 8);
  for (let byte = 0; byte < SIZE; byte++)
    if (seen[byte] === 1) set[byte >> 3] = (set[byte >> 3] as number) | (1 << (byte & 7));
  return set.toString('hex');
}

/** False: the set lacks a byte of the text. @param set as `bytesIn` answers it */
export function mayHold(set: string, text: Uint8Array): boolean {
  for (const byte of text) {
    const digit = set[(byte >> 3) * 2 + (byte & 4 ? 0 : 1)];
    if (digit !== undefined && (Number.parseInt(digit, 16) & (1 << (byte & 3))) === 0) return false;
  }
  return true;
}
