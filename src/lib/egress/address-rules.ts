// Which IP addresses are the public internet, which are not, and which hand out cloud credentials.
// Sources: IANA special-purpose registries for IPv4 and IPv6, RFC 6890, RFC 6052 (NAT64), RFC 3056 (6to4),
// RFC 4380 (Teredo), RFC 5214 (ISATAP), and the metadata addresses that the clouds document.
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address as its 4 or 16 bytes. */
export type Address = readonly number[];

/** A block of addresses: the first `bits` bits of `base`. */
export interface Range {
  readonly base: Address;
  readonly bits: number;
}

/** The bytes of an address in canonical text (dotted quad, or IPv6 without brackets; a zone is dropped), else undefined. */
export function parseAddress(text: string): Address | undefined {
  // isIP is strict where ipaddr.js takes octal, hexadecimal and short forms.
  if (isIP(text) === 0) return undefined;
  const zone = text.indexOf('%');
  return ipaddr.parse(zone < 0 ? text : text.slice(0, zone)).toByteArray();
}

/** A block written as `address/bits`, or a single address as a block of one; undefined when it is neither. */
export function parseRange(text: string): Range | undefined {
  const slash = text.indexOf('/');
  const base = text.includes('%') ? undefined : parseAddress(slash < 0 ? text : text.slice(0, slash));
  if (base === undefined) return undefined;
  const most = base.length * 8;
  if (slash < 0) return { base, bits: most };
  const digits = text.slice(slash + 1);
  if (!/^(0|[1-9]\d{0,2})$/.test(digits) || Number(digits) > most) return undefined;
  return { base, bits: Number(digits) };
}

/** Whether an address lies in a block of its own family. */
export function within(address: Address, range: Range): boolean {
  if (address.length !== range.base.length) return false;
  let bits = range.bits;
  for (let i = 0; bits > 0; i++, bits -= 8) {
    const mask = bits >= 8 ? 0xff : (0xff << (8 - bits)) & 0xff;
    if (((address[i]! ^ range.base[i]!) & mask) !== 0) return false;
  }
  return true;
}

/** Blocks that are read when the first address is judged: a start judges none. */
const ranges = (list: string): (() => readonly Range[]) => {
  let read: readonly Range[] | undefined;
  return () => {
    read ??= list
      .trim()
      .split(/\s+/)
      .map((text) => parseRange(text)!);
    return read;
  };
};
const inAny = (address: Address, list: () => readonly Range[]): boolean =>
  list().some((range) => within(address, range));

// Unspecified, private, CGNAT, loopback, link-local, protocol assignments, documentation, AS112, AMT,
// 6to4 relays, benchmarking, multicast, reserved, broadcast.
const SPECIAL_V4 = ranges(`
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15
  198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`);

// IPv6 is judged the other way round: only global unicast is public, less what was cut out of it.
const GLOBAL_V6 = ranges('2000::/3');
const SPECIAL_V6 = ranges('2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3ffe::/16 3fff::/20');

// AWS, GCP, Azure and OpenStack (169.254.169.0/24, fd20:ce::254), ECS and EKS tasks, Tencent, Scaleway,
// Alibaba, Azure's wire server, Oracle, AWS over IPv6.
const METADATA = ranges(`
  169.254.169.0/24 169.254.170.2 169.254.170.23 169.254.0.23 169.254.42.42 100.100.100.200 168.63.129.16
  192.0.0.192 fd00:ec2::/96 fd20:ce::254 fd00:c1::a9fe:a9fe fd00:42::42`);

const COMPATIBLE = ranges('::/96');
// Forms with the IPv4 address in the last 32 bits: mapped, translated, NAT64.
const TRAILING = ranges('::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96');
const LOCAL_NAT64 = ranges('64:ff9b:1::/48');
const SIX_TO_FOUR = ranges('2002::/16');
const TEREDO = ranges('2001::/32');

/** The IPv4 addresses that an IPv6 address may stand for; empty when it carries none. */
export function embeddedV4(address: Address): readonly Address[] {
  if (address.length === 4) return [];
  const at = (...places: readonly number[]): Address => places.map((i) => address[i]!);
  const last = at(12, 13, 14, 15);
  if (inAny(address, COMPATIBLE)) {
    // :: and ::1 are the unspecified and the loopback address, nothing embedded.
    return last[0] === 0 && last[1] === 0 && last[2] === 0 && last[3]! <= 1 ? [] : [last];
  }
  if (inAny(address, TRAILING)) return [last];
  // The local-use prefix does not show where the operator put the IPv4 bits: all positions of RFC 6052 are checked.
  if (inAny(address, LOCAL_NAT64)) return [at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), last];
  if (inAny(address, SIX_TO_FOUR)) return [at(2, 3, 4, 5)];
  if (inAny(address, TEREDO)) return [at(4, 5, 6, 7), last.map((byte) => byte ^ 0xff)];
  const isatap =
    (address[8]! & 0xfd) === 0 && address[9] === 0 && address[10] === 0x5e && address[11] === 0xfe;
  return isatap ? [last] : [];
}

/** Whether an address is plain public unicast: not special, and no IPv4 address in disguise. */
export function isPublic(address: Address): boolean {
  if (isMetadata(address)) return false;
  if (address.length === 4) return !inAny(address, SPECIAL_V4);
  return inAny(address, GLOBAL_V6) && !inAny(address, SPECIAL_V6) && embeddedV4(address).length === 0;
}

/** Whether an address, or an IPv4 address inside it, hands out cloud credentials. No allow list opens these. */
export function isMetadata(address: Address): boolean {
  return inAny(address, METADATA) || embeddedV4(address).some((inner) => inAny(inner, METADATA));
}
