// Masks known secrets in texts that repeat them.

/** Of a secret, in UTF-16 units: shorter ones also occur in ordinary words. */
export const SHORTEST_SECRET = 8;
/** UTF-16 units that are looked through in one step: a few milliseconds. */
const STEP_UNITS = 2_097_152;
const MASK = '***';

/** The text with every secret masked; those that are too short to be one are left. */
export function maskedText(text: string, secrets: readonly string[]): string {
  return secrets.reduce(withoutSecret, text);
}

/** `maskedText` in steps, where the text is long or the secrets are many. */
export function* maskedInSteps(text: string, secrets: readonly string[]): Generator<void, string> {
  let left = text;
  let units = 0;
  for (const secret of secrets) {
    left = withoutSecret(left, secret);
    units += left.length;
    if (units < STEP_UNITS) continue;
    units = 0;
    yield;
  }
  return left;
}

function withoutSecret(text: string, secret: string): string {
  return secret.length >= SHORTEST_SECRET && text.includes(secret) ? text.replaceAll(secret, MASK) : text;
}

/** A text that was cut, without the beginning of a secret at its end. Linear in the secrets' length. */
export function withoutBegun(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    const length = begunAtEnd(text, secret);
    if (length >= SHORTEST_SECRET) return `${text.slice(0, -length)}${MASK}`;
  }
  return text;
}

/** Of the longest beginning of a secret that the text ends with, and that is not all of it: Knuth, Morris and Pratt's way. */
function begunAtEnd(text: string, secret: string): number {
  const from = Math.max(0, text.length - secret.length + 1);
  if (secret.length < SHORTEST_SECRET || text.indexOf(secret.slice(0, SHORTEST_SECRET), from) === -1)
    return 0;
  const most = secret.length - 1;
  /** Of each beginning, the longest one that it ends with. */
  const borders = new Int32Array(most);
  for (let i = 1, length = 0; i < most; i++) {
    length = grown(secret, borders, length, secret.charCodeAt(i));
    borders[i] = length;
  }
  let length = 0;
  for (let i = from; i < text.length; i++) length = grown(secret, borders, length, text.charCodeAt(i));
  return length;
}

/** How much of a secret has come after one more unit. */
function grown(secret: string, borders: Int32Array, length: number, unit: number): number {
  let now = length === borders.length ? borders[length - 1]! : length;
  while (now > 0 && secret.charCodeAt(now) !== unit) now = borders[now - 1]!;
  return secret.charCodeAt(now) === unit ? now + 1 : now;
}
