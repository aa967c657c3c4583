// Slugs made of names (admin-api facts, part 1.4).
import { randomBytes } from 'node:crypto';
import { invalidField } from '../../lib/errors.ts';

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The slug of a new thing: the given one, or one made of its name (see slugOf). Paths take ids and slugs, so that
 * none may pass for an id.
 * @throws GatewayError validation_failed.
 */
export function newSlug(given: string | undefined, prefix: string, name: string, length: number): string {
  if (given !== undefined && ID.test(given)) throw invalidField('slug', 'must not have the form of an id');
  return given ?? slugOf(prefix, name, length);
}

/**
 * A slug such as `ws-test-a-174eb1`: the prefix, the beginning of the name in lower case with everything that is
 * no letter or digit as `-`, and six hexadecimal digits of chance.
 */
export function slugOf(prefix: string, name: string, length: number): string {
  const text = name
    .slice(0, length)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return [prefix, text, randomBytes(3).toString('hex')].filter((part) => part !== '').join('-');
}
