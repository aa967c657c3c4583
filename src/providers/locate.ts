// Where a call goes: base address, the provider's path, the query. Nothing that comes
// from options or a request's path can change the host that a base address names.
import { fail } from '../lib/errors.ts';
import { authQuery } from './auth/index.ts';
import { type Base, customBase, templateBase } from './base-address.ts';
import type { Location, Outbound, ProviderEntry, ProviderOptions, Target } from './dialect.ts';
import type { OperationName } from './operations.ts';
import { checkOptions } from './options/check.ts';
import { customHostError } from './options/named.ts';
import { sentQuery } from './options/sent.ts';

const RAW_PATH = /^\/[\x21\x22\x24-\x7e]*$/;

/** An address to call: scheme, host and port, and the raw path with its query. */
export interface Address {
  readonly origin: string;
  readonly path: string;
}

/**
 * Where an operation goes. Without an outbound request: the base alone.
 * @throws GatewayError `invalid_header` when an option or the custom host is missing or broken.
 */
export function locate(
  target: Target,
  operation: OperationName | undefined,
  outbound: Outbound | undefined,
): Address {
  const { provider } = target;
  const { base, location } = placeOf(target, operation);
  if (outbound === undefined) return { origin: base.origin, path: base.path === '' ? '/' : base.path };
  const override = operation && provider.paths?.[operation];
  const own = override === undefined ? outbound.path : overridden(override, operation, outbound.path);
  const prefix = override === undefined ? (location?.pathPrefix ?? provider.pathPrefix ?? '') : '';
  const path = base.path + (prefix !== '' && base.path.endsWith(prefix) ? '' : prefix) + own;
  return { origin: base.origin, path: withQuery(withQuery(path, location?.query), querySent(target)) };
}

/**
 * Where a pass-through call goes: the provider's base path and then the raw path with its
 * query, byte for byte.
 * @throws GatewayError `invalid_header` as `locate`, `validation_failed` for a path that is none, or leads out of the base.
 */
export function locateRaw(target: Target, rawPath: string): Address {
  if (!RAW_PATH.test(rawPath)) {
    throw fail('validation_failed', 'path: must begin with a slash and be visible ASCII', { param: 'path' });
  }
  if (leavesBase(rawPath)) {
    throw fail(
      'validation_failed',
      "path: its dot segments (`..`, also encoded) lead out of the provider's base path; write the path without them",
      { param: 'path' },
    );
  }
  const { base } = placeOf(target, undefined);
  const path = target.provider.rawPaths?.[rawPath] ?? rawPath;
  return { origin: base.origin, path: withQuery(base.path + path, authQuery(target)) };
}

/** Encodings within encodings that are looked through: servers and the proxies before them may each decode once. */
const DECODINGS = 3;

/** Whether dot segments (RFC 3986, part 5.2.4), encoded ones and ones after a backslash too, leave the base path. */
function leavesBase(rawPath: string): boolean {
  let path = rawPath.split('?', 1)[0]!;
  if (!/\.|%/.test(path)) return false;
  for (let i = 0; i <= DECODINGS; i++) {
    let depth = 0;
    for (const segment of path.split(/[/\\]+/)) {
      // What follows a semicolon is a parameter to some servers.
      const [name] = segment.split(';', 1);
      if (name === '..') depth--;
      else if (name !== '' && name !== '.') depth++;
      if (depth < 0) return true;
    }
    const decoded = path.replace(/%(2e|2f|5c|25|3b)/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (decoded === path) return false;
    path = decoded;
  }
  return false;
}

/**
 * Scheme, host and port of a provider with these options; undefined where only a custom host can say.
 * @throws GatewayError `invalid_header` as `locate`.
 */
export function originOf(entry: ProviderEntry, options: ProviderOptions): string | undefined {
  return entry.baseUrl === undefined ? undefined : placeIn(entry, options, undefined, undefined).base.origin;
}

interface Place {
  readonly base: Base;
  readonly location: Location | undefined;
}

function placeOf({ provider, options, customHost }: Target, operation: OperationName | undefined): Place {
  return placeIn(provider, options, customHost, operation);
}

function placeIn(
  provider: ProviderEntry,
  options: ProviderOptions,
  customHost: string | undefined,
  operation: OperationName | undefined,
): Place {
  checkOptions(provider, options, operation, customHost !== undefined);
  const location = provider.locate?.(options, operation);
  if (customHost !== undefined) return { base: customBase(customHost), location };
  const own = location?.baseUrl ?? provider.baseUrl;
  if (own === undefined) throw customHostError(`is required for provider ${provider.id}`);
  return { base: templateBase(provider, own, options), location };
}

/** What options and the credential add to the query. */
function querySent(target: Target): string | undefined {
  const options = sentQuery(target);
  const key = authQuery(target);
  if (options === undefined || key === undefined) return options ?? key;
  return `${options}&${key}`;
}

function withQuery(path: string, query: string | undefined): string {
  return query === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

/** The dialect's path with another in its place, its query and a model's name kept. */
function overridden(override: string, operation: OperationName | undefined, own: string): string {
  const mark = own.indexOf('?');
  const query = mark === -1 ? '' : own.slice(mark);
  const pathname = mark === -1 ? own : own.slice(0, mark);
  const name = operation === 'model' ? pathname.slice(pathname.indexOf('/', 1)) : '';
  return override + name + query;
}
