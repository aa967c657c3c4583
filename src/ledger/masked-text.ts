// Texts without the secrets that somebody repeats in them.

/** Of a secret, in UTF-16 units: what is shorter stands in ordinary words. */
export const SHORTEST_SECRET = 8;

/** Every secret in a text, masked; those that are too short to be one are left. */
export function maskedText(text: string, secrets: readonly string[]): string {
  return secrets.reduce(
    (left, secret) =>
      secret.length >= SHORTEST_SECRET && left.includes(secret) ? left.replaceAll(secret, '***') : left,
    text,
  );
}
