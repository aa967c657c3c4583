// Slugs made of names (admin-api facts, part 1.4).
import { randomBytes } from 'node:crypto';

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
