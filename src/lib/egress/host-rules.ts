// Which host names are refused before anything is resolved.

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

// Names of the clouds' metadata services: they answer with credentials, so no allow list opens them.
const METADATA = words(`
  metadata metadata.google.internal metadata.goog metadata.azure.internal metadata.azure.com
  metadata.packet.net metadata.platformequinix.com metadata.tencentyun.com
  instance-data instance-data.ec2.internal`);

// Public DNS that answers with any address that the name asks for, or with another one each time.
const WILDCARD_DNS = words(`
  nip.io sslip.io xip.io xip.name localtest.me lvh.me lvh.com vcap.me lacolhost.com traefik.me local.gd
  localho.st fuf.me backname.io ipq.co 1u.ms rbndr.us rebind.network lock.cmpxchg8b.com`);

// Suffixes that only an inside network answers (RFC 6761, 6762, 8375, Kubernetes, Consul).
const INSIDE = words(`
  localhost local localdomain internal intranet lan home corp private test invalid example onion
  home.arpa svc cluster.local kubernetes consul`);

/** Why a name is refused. `never`: also when it is allow-listed. */
export interface NameRefusal {
  readonly never: boolean;
  readonly text: string;
}

/** Judges a lower-case host name (no address) without resolving it; undefined when it is allowed. */
export function judgeName(host: string): NameRefusal | undefined {
  if (underAny(host, METADATA)) return { never: true, text: 'it is a cloud metadata service' };
  if (underAny(host, WILDCARD_DNS)) return { never: true, text: 'it is a wildcard DNS service' };
  // A name without a dot is looked up in the search domains of this network, or of the company proxy.
  if (!host.includes('.') || underAny(host, INSIDE))
    return { never: false, text: 'it is a name of an inside network' };
  return undefined;
}

/** Whether a host is one of the names or below one of them. */
function underAny(host: string, names: ReadonlySet<string>): boolean {
  for (let rest = host; ; ) {
    if (names.has(rest)) return true;
    const dot = rest.indexOf('.');
    if (dot < 0) return false;
    rest = rest.slice(dot + 1);
  }
}

/** What is wrong with the spelling of a lower-case host name; undefined when it is plain. */
export function misspelled(host: string): string | undefined {
  if (host.endsWith('.')) return 'a host must not end with a dot';
  if (host.length > 253) return 'a host has at most 253 characters';
  if (!/^[a-z0-9_.-]+$/.test(host)) return 'a host is made of letters, digits, hyphens and dots';
  for (const label of host.split('.')) {
    if (label.length === 0 || label.length > 63) return 'each part of a host has 1 to 63 characters';
    // Punycode hides look-alike names; a provider's API has a plain one.
    if (label.startsWith('xn--')) return 'internationalised (xn--) hosts are not called';
  }
  return undefined;
}
