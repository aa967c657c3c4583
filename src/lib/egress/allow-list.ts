// GATEWAY_EGRESS_ALLOW: what may be called although the rules of this room refuse it.
import { type Address, isMetadata, parseAddress, parseRange, type Range, within } from './address-rules.ts';
import { judgeName, misspelled } from './host-rules.ts';

/** What the operator opened. Hosts are lower-case and without brackets. */
export interface AllowList {
  /** Whether a name is open at a port: listed bare, below a listed `*.suffix`, or with exactly this port. */
  name(host: string, port: number): boolean;
  /** Whether an address is open at a port: in a listed block, or listed with exactly this port. */
  address(address: Address, port: number): boolean;
  /** Whether a name or literal is listed as `host:port` with exactly this port. */
  exactPort(host: string, port: number): boolean;
}

interface NameEntry {
  /** A name, or a suffix with its leading dot. */
  readonly name: string;
  readonly port: number | undefined;
}

interface RangeEntry {
  readonly range: Range;
  readonly port: number | undefined;
}

/**
 * Reads a comma list of `host`, `*.suffix`, `host:port`, `[v6]:port`, addresses and CIDR blocks.
 * A bare host or block opens every port but those of non-HTTP services; those need `host:port`.
 * @throws Error that names the item at fault
 */
export function parseAllowList(text: string): AllowList {
  const names: NameEntry[] = [];
  const blocks: RangeEntry[] = [];
  for (const part of text.split(',')) {
    const item = part.trim();
    if (item === '') continue;
    const entry = readItem(item);
    if ('name' in entry) names.push(entry);
    else blocks.push(entry);
  }
  return {
    name: (host, port) => names.some((e) => (e.port ?? port) === port && covers(e.name, host)),
    address: (address, port) => blocks.some((e) => (e.port ?? port) === port && within(address, e.range)),
    exactPort(host, port) {
      const address = parseAddress(host);
      if (address === undefined) return names.some((e) => e.port === port && covers(e.name, host));
      return blocks.some((e) => e.port === port && within(address, e.range));
    },
  };
}

/** An allow list without entries. */
export const NOTHING_ALLOWED: AllowList = parseAllowList('');

function covers(name: string, host: string): boolean {
  return name.startsWith('.') ? host.endsWith(name) : name === host;
}

function readItem(item: string): NameEntry | RangeEntry {
  const bare = parseRange(item);
  if (bare !== undefined) return openable(item, { range: bare, port: undefined });
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(item) ?? [];
  const host = (bracketed ?? plain ?? '').toLowerCase();
  const port = digits === undefined ? undefined : Number(digits);
  if (host === '' || (port !== undefined && (port < 1 || port > 65_535))) throw unreadable(item);
  if (host.includes('/')) throw unreadable(item);
  const range = parseRange(host);
  if (range !== undefined && (bracketed !== undefined) === (range.base.length === 16)) {
    return openable(item, { range, port });
  }
  const name = host.startsWith('*.') ? host.slice(1) : host;
  const plainName = name.startsWith('.') ? name.slice(1) : name;
  // A name of digits and dots only is a mistyped address (10.0.0, 256.1.1.1), never a host.
  if (bracketed !== undefined || host.startsWith('.') || /^[\d.]+$/.test(name)) throw unreadable(item);
  if (misspelled(plainName) !== undefined) throw unreadable(item);
  const refusal = judgeName(plainName);
  if (refusal?.never) throw new Error(`the egress allow list cannot open "${item}": ${refusal.text}`);
  return { name, port };
}

/** A single address that no list may open is a mistake worth saying; a block that merely covers one is not. */
function openable(item: string, entry: RangeEntry): RangeEntry {
  if (entry.range.bits === entry.range.base.length * 8 && isMetadata(entry.range.base)) {
    throw new Error(`the egress allow list cannot open "${item}": it is a cloud metadata address`);
  }
  return entry;
}

function unreadable(item: string): Error {
  return new Error(
    `the egress allow list has "${item}", which is no host, *.suffix, host:port, [v6]:port, address or CIDR block`,
  );
}
