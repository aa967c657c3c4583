// The static rules: what can be refused by looking at an address, before anything is resolved or connected.
import { fail, type GatewayError } from '../errors.ts';
import { type Address, embeddedV4, isMetadata, isPublic, parseAddress } from './address-rules.ts';
import type { AllowList } from './allow-list.ts';
import { judgeName, misspelled } from './host-rules.ts';
import { isRefusedPort } from './port-rules.ts';

/** Where a call goes, taken apart. */
export interface Target {
  readonly protocol: 'http:' | 'https:';
  /** Lower-case name, dotted quad, or IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** The address when the host is one. */
  readonly address: Address | undefined;
}

const LONGEST_URL = 2048;
const REFUSED_CHARACTERS = /[\p{Cc}\s\\]/u;
const SHAPE = /^(https?):\/\/([^/?#]*)([/?].*)?$/i;
const AUTHORITY = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::([1-9]\d{0,4}))?$/i;

/**
 * Takes a URL apart and applies every static rule.
 * @param rest whether a path and query may follow the authority
 * @throws GatewayError host_refused that names `param`
 */
export function judgeUrl(url: string, param: string, allow: AllowList, rest: boolean): Target {
  const target = readTarget(url, param, rest);
  if (isRefusedPort(target.port) && !allow.exactPort(target.host, target.port)) {
    const text = `port ${target.port} is not one that HTTP services are called on`;
    throw refused(param, text, entryFor(target.host, target.port));
  }
  if (target.address !== undefined) {
    const text = judgeAddress(target.address, target.port, allow);
    if (text === undefined) return target;
    throw refused(param, text, isMetadata(target.address) ? undefined : entriesFor(target.address, target));
  }
  const refusal = judgeName(target.host);
  if (refusal !== undefined && (refusal.never || !allow.name(target.host, target.port))) {
    const text = `the host ${target.host} may not be called: ${refusal.text}`;
    throw refused(param, text, refusal.never ? undefined : entryFor(target.host, target.port));
  }
  return target;
}

/**
 * Why an address may not be called at a port; undefined when it may.
 * An IPv4 address inside an IPv6 one is judged twice: the outer form must be listed, and the inner one must pass.
 */
export function judgeAddress(address: Address, port: number, allow: AllowList): string | undefined {
  if (isMetadata(address)) return 'the address belongs to a cloud metadata service';
  if (isPublic(address)) return undefined;
  const inner = embeddedV4(address);
  const open =
    allow.address(address, port) && inner.every((v4) => judgeAddress(v4, port, allow) === undefined);
  return open ? undefined : 'the address is private, local or reserved';
}

/** The raw text is checked before the URL parser sees it: the parser hides octal, hexadecimal and short addresses. */
function readTarget(url: string, param: string, rest: boolean): Target {
  if (url.length > LONGEST_URL) throw refused(param, `a URL has at most ${LONGEST_URL} characters`);
  if (REFUSED_CHARACTERS.test(url))
    throw refused(param, 'white space, control characters and backslashes are refused');
  if (url.includes('#')) throw refused(param, 'a fragment is refused');
  const [, scheme, authority, tail] = SHAPE.exec(url) ?? [];
  if (scheme === undefined || authority === undefined)
    throw refused(param, 'the URL must begin with http:// or https://');
  if (tail !== undefined && !rest) throw refused(param, 'only a scheme, a host and a port are expected');
  if (authority.includes('@')) throw refused(param, 'credentials in a URL are refused');
  if (authority.includes('%')) throw refused(param, 'percent-encoded hosts are refused');
  const [, v6, name, digits] = AUTHORITY.exec(authority) ?? [];
  const raw = (v6 ?? name)?.toLowerCase();
  if (raw === undefined) throw refused(param, 'the host cannot be read');
  const spelling = v6 === undefined ? misspelled(raw) : undefined;
  if (spelling !== undefined) throw refused(param, spelling);

  const protocol = scheme.toLowerCase() === 'https' ? 'https:' : 'http:';
  const port = digits === undefined ? (protocol === 'https:' ? 443 : 80) : Number(digits);
  if (port > 65_535) throw refused(param, 'the port cannot be read');
  const address = parseAddress(raw);
  if ((v6 !== undefined) !== (address?.length === 16)) throw refused(param, 'the host cannot be read');
  // Whatever the URL parser would turn into something else was written to be misread.
  if (v6 === undefined && URL.parse(url)?.hostname !== raw) {
    throw refused(
      param,
      'the host is not in its canonical form (an address is written as four decimal numbers)',
    );
  }
  return { protocol, host: raw, port, address };
}

/** @param entry what opens it in the allow list; undefined: nothing does */
function refused(param: string, text: string, entry?: string): GatewayError {
  const way = entry === undefined ? '' : `. ${wayToOpen(entry)}`;
  return fail('host_refused', `${param}: ${text}${way}`, { param });
}

/** What an operator does so that something refused is called. @param entry of the allow list */
export function wayToOpen(entry: string): string {
  return `To call it, its operator adds ${entry} to GATEWAY_EGRESS_ALLOW and starts the gateway again`;
}

/** The entry of the allow list that opens a host at one port and nothing else. */
export function entryFor(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** An IPv4 address inside of an IPv6 one has to be open as well. */
function entriesFor(address: Address, { host, port }: Target): string {
  const inner = embeddedV4(address).filter((v4) => !isPublic(v4));
  return [entryFor(host, port), ...inner.map((v4) => entryFor(v4.join('.'), port))].join(',');
}
