// Partial updates: given members replace, members named in `clear` are removed, the rest stays.
import { invalidField } from '../../lib/errors.ts';

/** Fields of an update, applied one by one. */
export interface Patch {
  /** The new value of an optional field. */
  optional<T>(name: string, given: T | undefined, current: T | undefined): T | undefined;
  /** The new value of a required field. @throws GatewayError when the patch clears it. */
  always<T>(name: string, given: T | undefined, current: T): T;
  /** The new list: a given one that is not empty replaces. */
  list<T>(name: string, given: readonly T[], current: readonly T[] | undefined): readonly T[] | undefined;
  /** Whether the field is to go. */
  cleared(name: string): boolean;
}

/**
 * @param clear names of fields that JSON callers sent as null
 * @param clearable the fields that may be taken away
 * @throws GatewayError validation_failed for a field that may not.
 */
export function patch(clear: readonly string[], clearable: readonly string[]): Patch {
  const gone = new Set(clear);
  for (const name of gone) {
    if (!clearable.includes(name)) throw invalidField(name, 'must not be null', 'null');
  }
  return {
    optional: (name, given, current) => given ?? (gone.has(name) ? undefined : current),
    always: (_name, given, current) => given ?? current,
    list: (name, given, current) => (given.length > 0 ? given : gone.has(name) ? undefined : current),
    cleared: (name) => gone.has(name),
  };
}

/** The object without members that are undefined: stored bodies are JSON. */
export function defined<T extends object>(object: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}
