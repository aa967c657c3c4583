// Anthropic, "API overview": `x-api-key: <key>`.

/** Flat pairs of the credential's header. */
export function credential(key: string): readonly string[] {
  return ['x-api-key', key];
}
