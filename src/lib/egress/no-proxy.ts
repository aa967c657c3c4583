// NO_PROXY: which targets are called directly although there is a company proxy.
import { parseAddress, parseRange, within } from './address-rules.ts';
import type { Target } from './url-rules.ts';

type Rule = (target: Target) => boolean;

/**
 * Reads a comma list of names (with what is below them), `.suffix` or `*.suffix` (only what is below), `*`,
 * addresses, CIDR blocks, and any of these but blocks with `:port`. What cannot be read matches nothing, as with
 * every other program that reads this variable.
 */
export function parseNoProxy(text: string): Rule {
  const rules = text
    .split(/[\s,]+/)
    .filter((item) => item !== '')
    .map((item) => readItem(item.toLowerCase()));
  return (target) => rules.some((rule) => rule(target));
}

function readItem(item: string): Rule {
  if (item === '*') return () => true;
  const bare = parseRange(item);
  if (bare !== undefined) return ({ address }) => address !== undefined && within(address, bare);
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(item) ?? [];
  const host = bracketed ?? plain ?? '';
  const samePort: Rule = (target) => digits === undefined || target.port === Number(digits);
  if (host === '*') return samePort;
  const literal = parseAddress(host);
  if (literal !== undefined) {
    const range = { base: literal, bits: literal.length * 8 };
    return (target) => target.address !== undefined && within(target.address, range) && samePort(target);
  }
  const name = host.startsWith('*.') ? host.slice(1) : host;
  if (name === '') return () => false;
  const suffix = name.startsWith('.') ? name : `.${name}`;
  return (target) => (target.host === name || target.host.endsWith(suffix)) && samePort(target);
}
