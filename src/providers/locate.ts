// Where a call goes: base address, the provider's path, the query. Nothing that comes
// from options or a request's path can change the host that a base address names.
import { fail, invalidHeader } from '../lib/errors.ts';
import type { OperationName, Outbound, Target } from './dialect.ts';

const CUSTOM_HOST = 'x-gateway-custom-host';
const RAW_PATH = /^\/[\x21\x22\x24-\x7e]*$/;
const MAX_KEPT = 1000;

/** An address to call: scheme, host and port, and the raw path with its query. */
export interface Address {
  readonly origin: string;
  readonly path: string;
}

interface Base {
  readonly origin: string;
  /** Without a trailing slash; empty for the root. */
  readonly path: string;
}

// Base addresses are few and repeat with every call.
const bases = new Map<string, Base>();

/**
 * Where an operation goes. Without an outbound request: the base alone.
 * @throws GatewayError `invalid_header` when an option or the custom host is missing or broken.
 */
export function locate(
  target: Target,
  operation: OperationName | undefined,
  outbound: Outbound | undefined,
): Address {
  const { provider, customHost } = target;
  const location = provider.locate?.(target.options, operation, customHost !== undefined);
  const base = baseOf(target, location?.baseUrl ?? provider.baseUrl);
  if (outbound === undefined) return { origin: base.origin, path: base.path === '' ? '/' : base.path };
  const override = operation && provider.paths?.[operation];
  const own = override === undefined ? outbound.path : overridden(override, operation, outbound.path);
  const prefix = override === undefined ? (location?.pathPrefix ?? provider.pathPrefix ?? '') : '';
  const path = base.path + (prefix !== '' && base.path.endsWith(prefix) ? '' : prefix) + own;
  const query = location?.query;
  return {
    origin: base.origin,
    path: query === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
  };
}

/**
 * Where a pass-through call goes: the provider's base path and then the raw path with its
 * query, byte for byte.
 * @throws GatewayError `invalid_header` as `locate`, `validation_failed` for a path that is none.
 */
export function locateRaw(target: Target, rawPath: string): Address {
  if (!RAW_PATH.test(rawPath)) {
    throw fail('validation_failed', 'path: must begin with a slash and be visible ASCII', { param: 'path' });
  }
  const { provider, customHost } = target;
  const location = provider.locate?.(target.options, undefined, customHost !== undefined);
  const base = baseOf(target, location?.baseUrl ?? provider.baseUrl);
  return { origin: base.origin, path: base.path + rawPath };
}

function baseOf({ provider, customHost }: Target, own: string | undefined): Base {
  if (customHost !== undefined) return kept(customHost);
  if (own !== undefined) return kept(own);
  throw invalidHeader(CUSTOM_HOST, `is required for provider ${provider.id}`);
}

function kept(text: string): Base {
  const known = bases.get(text);
  if (known !== undefined) return known;
  const base = parseBase(text);
  if (bases.size >= MAX_KEPT) bases.clear();
  bases.set(text, base);
  return base;
}

/** Reads a base address: http or https, a host, perhaps a path; no credentials, query or fragment. */
function parseBase(text: string): Base {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '') {
    throw invalidHeader(CUSTOM_HOST, 'must be an http or https address');
  }
  if (url.username !== '' || url.password !== '' || text.includes('?') || text.includes('#')) {
    throw invalidHeader(CUSTOM_HOST, 'must not carry credentials, a query or a fragment');
  }
  return Object.freeze({ origin: url.origin, path: url.pathname.replace(/\/+$/, '') });
}

/** The dialect's path with another in its place, its query and a model's name kept. */
function overridden(override: string, operation: OperationName | undefined, own: string): string {
  const mark = own.indexOf('?');
  const query = mark === -1 ? '' : own.slice(mark);
  const pathname = mark === -1 ? own : own.slice(0, mark);
  const name = operation === 'model' ? pathname.slice(pathname.indexOf('/', 1)) : '';
  return override + name + query;
}
