// What a call's headers say about the cache.
import { invalidHeader } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { type CacheSettings, namespaceOf } from './settings.ts';

/**
 * The settings with what the caller's headers change: `cache-force-refresh: true` (any other value does nothing),
 * `cache-namespace`, and of `cache-control` a `max-age` that is shorter (0 is a refresh). Undefined when the call
 * does not use the cache: no settings, `debug: false`, or `cache-control: no-store`. `no-cache` is left alone:
 * tools such as Postman put it on every call, and there would be no hits with them.
 *
 * @throws GatewayError invalid_header for a namespace that is none.
 */
export function withCacheHeaders<Target>(
  settings: CacheSettings<Target> | undefined,
  headers: GatewayHeaders,
): CacheSettings<Target> | undefined {
  const namespace = headerNamespace(headers);
  if (settings === undefined || headers.get('debug')?.trim().toLowerCase() === 'false') return undefined;
  const control = cacheControl(headers.plain('cache-control'));
  if (control.noStore) return undefined;
  const forced = headers.get('cache-force-refresh')?.trim().toLowerCase() === 'true';
  // An answer that may have no age at all is one that must be made.
  const refresh = forced || control.maxAge === 0;
  if (namespace === undefined && !refresh && control.maxAge === undefined) return settings;
  return {
    ...settings,
    namespace: namespace ?? settings.namespace,
    forceRefresh: settings.forceRefresh || refresh,
    maxAgeSeconds:
      control.maxAge === undefined || control.maxAge === 0
        ? settings.maxAgeSeconds
        : Math.min(settings.maxAgeSeconds, control.maxAge),
  };
}

function headerNamespace(headers: GatewayHeaders): string | undefined {
  const text = headers.get('cache-namespace');
  if (text === undefined || text === '') return undefined;
  const namespace = namespaceOf(text);
  if (typeof namespace === 'string')
    throw invalidHeader(`${headers.names.canonical}cache-namespace`, namespace);
  return namespace[0];
}

interface CacheControl {
  readonly noStore: boolean;
  readonly maxAge: number | undefined;
}

/** A request's cache-control (RFC 9111, part 5.2.1); what is not read there is left. */
function cacheControl(text: string | undefined): CacheControl {
  if (text === undefined) return { noStore: false, maxAge: undefined };
  const words = text.split(',').map((word) => word.trim().toLowerCase());
  const age = words.map((word) => /^max-age="?(\d{1,9})"?$/.exec(word)?.[1]).find((found) => found);
  return {
    noStore: words.includes('no-store'),
    maxAge: age === undefined ? undefined : Number(age),
  };
}
