// The way out through a company's proxy: CONNECT for https targets, absolute-form requests for http ones
// (RFC 9112, part 3.2.2; many proxies refuse CONNECT to ports other than 443).
import type { Socket } from 'node:net';
import { type buildConnector, Pool } from 'undici';
import { fail, GatewayError } from '../errors.ts';
import type { AllowList } from './allow-list.ts';
import { type ConnectSettings, connectDirect, openSockets } from './connector.ts';
import { codeOf, isTimeout } from './upstream-errors.ts';
import { judgeUrl, type Target } from './url-rules.ts';

/** A company proxy. Its own address is exempt from the firewall where the operator named it. */
export interface CompanyProxy {
  /** For http targets: sockets to the proxy, whatever the target. */
  readonly connectForward: buildConnector.connector;
  /** For https targets: sockets through the proxy, with the target's TLS inside. */
  readonly connectTunnel: buildConnector.connector;
  /** Header pairs that absolute-form requests carry. */
  readonly headers: readonly string[];
  close(): Promise<void>;
}

/** How the proxy itself is reached, where that is not as its targets are. */
export interface WayToProxy {
  readonly toProxy: ConnectSettings;
  /** The rules that its own address is judged by, when it is not the operator's. */
  readonly allow?: AllowList;
}

/**
 * @param text URL of the proxy; credentials in it become proxy-authorization
 * @throws Error when it is no http or https URL; the text, which may hold a password, is not repeated
 * @throws GatewayError host_refused for an address that the rules refuse
 */
export function createProxy(
  text: string,
  settings: ConnectSettings,
  { toProxy, allow }: WayToProxy = { toProxy: settings },
): CompanyProxy {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw new Error('the proxy must be an http:// or https:// URL');
  }
  const secure = url.protocol === 'https:';
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  const open =
    allow === undefined
      ? openTrusted(toProxy, secure)
      : connectDirect(toProxy, judgeUrl(url.origin, 'proxy_url', allow, false), allow);
  const place = { hostname, host: url.host, protocol: url.protocol, port: url.port };
  const connectForward: buildConnector.connector = (_target, callback) => open(place, callback);
  const pool = new Pool(url.origin, { connect: connectForward, allowH2: false, keepAliveTimeout: 1000 });
  const authorization = basic(url);
  const inside = openSockets(settings, true, (name, _options, callback) => {
    callback(new Error(`the proxy resolves ${name}`), []);
  });

  const connectTunnel: buildConnector.connector = (options, callback) => {
    const authority = `${options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname}:${options.port || 443}`;
    const headers = {
      host: authority,
      ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }),
    };
    const signal = AbortSignal.timeout(settings.connectTimeoutMs);
    pool.connect({ path: authority, headers, signal }).then(
      ({ socket, statusCode }) => {
        if (statusCode >= 200 && statusCode < 300) {
          // Undici's types say Duplex; for HTTP/1 it is the socket itself.
          inside({ ...options, httpSocket: socket as Socket }, callback);
          return;
        }
        socket.on('error', () => {}).destroy();
        callback(proxyRefused(statusCode), null);
      },
      (cause) => callback(proxyFailed(cause), null),
    );
  };

  return {
    connectForward,
    connectTunnel,
    headers: authorization === undefined ? [] : ['proxy-authorization', authorization],
    close: () => pool.destroy(),
  };
}

/** Sockets to a proxy that the operator named: whatever address its name has. */
function openTrusted(settings: ConnectSettings, secure: boolean): buildConnector.connector {
  return openSockets(settings, secure, (name, options, callback) => {
    settings.lookup(name, { all: true, hints: options.hints ?? 0 }, (error, found) => {
      const first = found?.[0];
      if (error !== null || options.all || first === undefined) callback(error, found);
      else callback(null, first.address, first.family);
    });
  });
}

/** A proxy that answers for itself instead of letting the call through. */
export function proxyRefused(status: number): GatewayError {
  return fail('upstream_unreachable', `the way out through the proxy was refused with status ${status}`);
}

/** Undici reconnects for ever on its own socket errors (they mean "try again" to it), so the error is ours. */
function proxyFailed(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  if (isTimeout(codeOf(cause)))
    return fail('upstream_timeout', 'the proxy did not answer in time', { cause });
  return fail('upstream_unreachable', 'the proxy cannot be reached', { cause });
}

function basic(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined;
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** The absolute-form prefix of an http target: scheme, host and port as in its host header. */
export function absoluteForm(target: Target): string {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  return `http://${host}${target.port === 80 ? '' : `:${target.port}`}`;
}
