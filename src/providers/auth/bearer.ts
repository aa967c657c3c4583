// RFC 6750: `Authorization: Bearer <key>`.

/** Flat pairs of the credential's header. */
export function credential(key: string): readonly string[] {
  return ['authorization', `Bearer ${key}`];
}
