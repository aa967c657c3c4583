// Where a body has its secrets.
import type { Collection, SecretField } from './collection.ts';

/** One value: the object or list that holds it, and under which name. */
export interface SecretPlace {
  readonly holder: Record<string, unknown>;
  readonly name: string;
  /** From the body down. */
  readonly path: readonly string[];
  readonly field: SecretField;
}

/** Every secret that the body has, in the declaration's order. */
export function secretPlaces(collection: Pick<Collection<object>, 'secret'>, body: object): SecretPlace[] {
  return collection.secret.flatMap((field) => placesOf(field, body, field.path.split('.'), []));
}

function placesOf(
  field: SecretField,
  value: unknown,
  [part, ...rest]: readonly string[],
  above: readonly string[],
): SecretPlace[] {
  if (part === undefined || typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return namesIn(value, part).flatMap((name) => {
    const path = [...above, name];
    return rest.length === 0 ? [{ holder, name, path, field }] : placesOf(field, holder[name], rest, path);
  });
}

/** A list has numbers only: a name means a member of an object. */
function namesIn(value: object, part: string): readonly string[] {
  if (part === '*') return Object.keys(value);
  return !Array.isArray(value) && Object.hasOwn(value, part) ? [part] : [];
}
