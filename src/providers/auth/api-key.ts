// Azure OpenAI, "Authentication": `api-key: <key>`.

/** Flat pairs of the credential's header. */
export function credential(key: string): readonly string[] {
  return ['api-key', key];
}
