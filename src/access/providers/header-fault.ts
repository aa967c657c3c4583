// Headers that an operator has sent with every request to a provider.
import { HOP_HEADERS } from '../../lib/hop-headers.ts';

const NEVER = new Set([...HOP_HEADERS, 'accept-encoding']);
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/;

/** What is wrong with a header; undefined when nothing is. */
export function headerFault(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'is not the name of a header';
  if (NEVER.has(name.toLowerCase())) return 'is not for custom headers';
  return VALUE.test(value) ? undefined : 'must be 1 to 4096 characters of printable ASCII';
}
