// The client's address when proxies are in front: their headers count as far as the proxies are trusted.
import { type Address, parseAddress, parseRange, type Range, within } from './egress/address-rules.ts';

/** Most hops that are read: more than any real chain has. */
const MAX_HOPS = 32;
/** IPv4 addresses in IPv6: ::ffff:0:0/96. */
const MAPPED_V4: Range = { base: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0], bits: 96 };

/**
 * Reads a comma list of addresses and CIDR blocks.
 * @throws Error that names the item at fault
 */
export function parseProxies(text: string): readonly Range[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((item) => item !== '')
    .map((item) => {
      const range = parseRange(item);
      if (range === undefined) throw new Error(`"${item}" is no address and no CIDR block`);
      return range;
    });
}

/**
 * The rightmost address of X-Forwarded-For that is no trusted proxy, when the peer is one; else the peer.
 * What is left of it is the client's own claim and is ignored; so is everything left of a
 * hop that cannot be read.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | undefined,
  trusted: readonly Range[],
): string {
  let address = plainAddress(peer);
  if (address === undefined) return peer;
  const isProxy = (one: Address): boolean => trusted.some((range) => within(one, range));
  let client = textOf(address, peer);
  if (forwardedFor === undefined || trusted.length === 0) return client;
  const hops = forwardedFor.split(',').slice(-MAX_HOPS);
  while (isProxy(address)) {
    const hop = hops.pop()?.trim();
    const next = hop === undefined ? undefined : plainAddress(withoutPort(hop));
    if (hop === undefined || next === undefined) break;
    address = next;
    client = textOf(address, withoutPort(hop));
  }
  return client;
}

/** Whether a peer is a trusted proxy. */
export function isTrusted(peer: string, trusted: readonly Range[]): boolean {
  const address = trusted.length === 0 ? undefined : plainAddress(peer);
  return address !== undefined && trusted.some((range) => within(address, range));
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711` without the port. */
function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop);
  if (bracketed) return bracketed[1]!;
  return /^[\d.]+:\d{1,5}$/.test(hop) ? hop.slice(0, hop.indexOf(':')) : hop;
}

/** An address; IPv4 in an IPv6 coat (what a dual-stack socket shows) as IPv4. */
function plainAddress(text: string): Address | undefined {
  const address = parseAddress(text);
  if (address === undefined || address.length === 4 || !within(address, MAPPED_V4)) return address;
  return address.slice(12);
}

function textOf(address: Address, text: string): string {
  return address.length === 4 ? address.join('.') : text.toLowerCase();
}
