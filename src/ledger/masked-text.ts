// Masks known secrets in texts that repeat them.

/** Of a secret, in UTF-16 units: shorter ones also occur in ordinary words. */
export const SHORTEST_SECRET = 8;

/** The text with every secret masked; those that are too short to be one are left. */
export function maskedText(text: string, secrets: readonly string[]): string {
  return secrets.reduce(
    (left, secret) =>
      secret.length >= SHORTEST_SECRET && left.includes(secret) ? left.replaceAll(secret, '***') : left,
    text,
  );
}
