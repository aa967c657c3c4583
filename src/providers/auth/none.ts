// Providers that take no credential.

const NONE: readonly string[] = Object.freeze([]);

/** No header, whatever the key. */
export function credential(_key: string): readonly string[] {
  return NONE;
}
