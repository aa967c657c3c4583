// Headers of SDKs of this product family under a prefix that the gateway was not started with.
import type { GatewayHeaders } from './gateway-headers.ts';

/** Names that such headers have after their prefix. */
const BARE = ['api-key', 'config', 'provider', 'virtual-key', 'custom-host', 'forward-headers'];
const PREFIXED = new RegExp(`^(x-[a-z0-9-]{1,48}?-)(?:${BARE.join('|')})$`);
/** Prefixes that others use for headers of the same names. */
const OTHERS = new Set(['x-', 'x-goog-', 'x-amz-', 'x-amzn-', 'x-forwarded-', 'x-b3-', 'x-request-']);

/** `. The headers … are those of …: …`, or nothing. */
export function aliasHint({ names, raw }: GatewayHeaders): string {
  for (const name of Object.keys(raw)) {
    const prefix = PREFIXED.exec(name)?.[1];
    if (prefix === undefined || OTHERS.has(prefix) || names.prefixes.includes(prefix)) continue;
    const all = [...names.prefixes, prefix].join(',');
    return `. The header ${name} is not read: its operator starts the gateway with GATEWAY_HEADER_PREFIXES=${all}`;
  }
  return '';
}
