// Opens sockets to targets: resolves once per connection, checks every address, and connects to a checked one.
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { fail } from '../errors.ts';
import { isMetadata, parseAddress } from './address-rules.ts';
import type { AllowList } from './allow-list.ts';
import { entryFor, judgeAddress, type Target, wayToOpen } from './url-rules.ts';

/** Resolves a name to all of its addresses; the shape of `dns.lookup` with `all`. */
export type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** What every connection shares. */
export interface ConnectSettings {
  readonly connectTimeoutMs: number;
  readonly secureContext: () => SecureContext;
  readonly lookup: Lookup;
}

/** Undici's connector (it keeps TLS sessions for resumption) over a given lookup. */
export function openSockets(
  settings: ConnectSettings,
  secure: boolean,
  lookup: LookupFunction,
): buildConnector.connector {
  return buildConnector({
    allowH2: false,
    timeout: settings.connectTimeoutMs,
    // Tries the checked addresses in turn (RFC 8305), never an unchecked one.
    autoSelectFamily: true,
    lookup,
    ...(secure ? { secureContext: settings.secureContext() } : {}),
  });
}

/** Connects to a target itself, under the firewall's rules. */
export function connectDirect(
  settings: ConnectSettings,
  target: Target,
  allow: AllowList,
): buildConnector.connector {
  return openSockets(settings, target.protocol === 'https:', checkedLookup(settings.lookup, target, allow));
}

/**
 * A lookup that answers only when every address passes: a name with one refused address is refused whole, because
 * which one the socket takes would be a matter of luck. What it answers is what the socket gets, so a name that
 * resolves differently a moment later (DNS rebinding) changes nothing.
 */
function checkedLookup(lookup: Lookup, target: Target, allow: AllowList): LookupFunction {
  const openByName = allow.name(target.host, target.port);
  const passes = ({ address }: LookupAddress): boolean => {
    const bytes = parseAddress(address);
    if (bytes === undefined) return false;
    return openByName ? !isMetadata(bytes) : judgeAddress(bytes, target.port, allow) === undefined;
  };
  return (hostname, options, callback) => {
    lookup(hostname, { all: true, hints: options.hints ?? 0 }, (error, found) => {
      if (error !== null) return callback(error, []);
      if (found.length === 0) return callback(nothingFound(hostname), []);
      const bad = found.find((address) => !passes(address));
      if (bad !== undefined) return callback(refusedName(target, bad.address), []);
      if (options.all) return callback(null, found);
      return callback(null, found[0]!.address, found[0]!.family);
    });
  };
}

/** The address stays in the cause: a caller must not learn what an inside name resolves to. */
function refusedName({ host, port }: Target, address: string): NodeJS.ErrnoException {
  const error: Error = fail(
    'host_refused',
    `the host ${host} resolves to an address that may not be called. ${wayToOpen(entryFor(host, port))}`,
    {
      cause: new Error(`${host} resolved to ${address}`),
    },
  );
  // Node passes it on untouched; only its types ask for a textual code, which a GatewayError's is not.
  return error;
}

function nothingFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
}
