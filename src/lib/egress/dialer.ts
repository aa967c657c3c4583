// The only way out of this process: every call goes through the firewall's rules and one pool of connections.
import { lookup as systemLookup } from 'node:dns';
import { fail } from '../errors.ts';
import type { AllowList } from './allow-list.ts';
import { trust } from './authorities.ts';
import type { ConnectSettings, Lookup } from './connector.ts';
import { isLocalServer, LocalServers } from './local-servers.ts';
import { Networks } from './networks.ts';
import { parseNoProxy } from './no-proxy.ts';
import type { Dialer, OutboundRequest, StreamedAnswer, WholeAnswer } from './outbound.ts';
import { createProxy } from './proxy.ts';
import { type Route, Routes } from './route.ts';
import { openSocket } from './socket.ts';
import { StreamedExchange } from './streamed.ts';
import { judgeUrl } from './url-rules.ts';
import { WholeExchange } from './whole.ts';

/** What a dialer is made from. */
export interface DialerOptions {
  /** Private hosts and addresses that may be called; from `parseAllowList`. */
  readonly allow: AllowList;
  /** Whether calls may go to the `localPort` that they name; false by default. */
  readonly localServers?: boolean;
  /** URL of the company proxy for all targets; it then resolves the names, while literals, names and ports are judged here. */
  readonly httpsProxy?: string;
  /** Targets that go directly, under all rules; see `parseNoProxy`. */
  readonly noProxy?: string;
  /** Certificate authorities in PEM, in addition to the default roots; for targets and for an https proxy. */
  readonly extraCa?: string;
  /** Longest wait for a connection in milliseconds; default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Resolves names; default the system's resolver. */
  readonly lookup?: Lookup;
  /** How long unused connections of a network of its own are held, in milliseconds; default 300,000. */
  readonly networkIdleMs?: number;
}

/** Addresses remembered as good. */
const MOST_PASSED = 1000;

/**
 * Makes the dialer.
 * @throws Error when the proxy's URL or the certificates cannot be read
 */
export function createDialer(options: DialerOptions): Dialer {
  const settings: ConnectSettings = {
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    secureContext: trust(options.extraCa),
    lookup: options.lookup ?? systemLookup,
  };
  const proxy = options.httpsProxy ? createProxy(options.httpsProxy, settings) : undefined;
  const noProxy = parseNoProxy(options.noProxy ?? '');
  const routes = new Routes(settings, options.allow, proxy, noProxy);
  const networks = new Networks({
    settings,
    allow: options.allow,
    httpsProxy: options.httpsProxy,
    noProxy,
    extraCa: options.extraCa,
    idleMs: options.networkIdleMs,
  });
  const local = options.localServers ? new LocalServers(settings) : undefined;
  const ways = { routes, networks, local };
  // The rules do not change while the process runs, and callers repeat their hosts.
  const passed = new Set<string>();
  return {
    whole(request, maxBytes) {
      return new Promise<WholeAnswer>((resolve, reject) => {
        new WholeExchange(routeOf(ways, request), request, maxBytes, resolve, reject).start();
      });
    },
    stream(request) {
      return new Promise<StreamedAnswer>((resolve, reject) => {
        new StreamedExchange(routeOf(ways, request), request, resolve, reject).start();
      });
    },
    socket: (request) => openSocket(routeOf(ways, request), request.origin),
    check(url, param, localPort) {
      if (passed.has(url)) return;
      if (local !== undefined && localPort !== undefined && isLocalServer(url, localPort)) return;
      judgeUrl(url, param, options.allow, true);
      if (passed.size >= MOST_PASSED) passed.clear();
      passed.add(url);
    },
    async close() {
      await Promise.all([routes.close(), networks.close(), local?.close()]);
    },
  };
}

/** Undici also takes an absolute URL as a path, which would ask the target to call another one. */
function routeOf({ routes, networks, local }: Ways, request: Where): Route {
  if (request.path.charCodeAt(0) !== 47)
    throw fail('validation_failed', 'a path begins with a slash', { param: 'path' });
  const { network, origin, localPort } = request;
  if (network !== undefined) return networks.routesOf(network).to(origin);
  if (local !== undefined && localPort !== undefined && isLocalServer(origin, localPort))
    return local.routesTo(localPort).to(origin);
  return routes.to(origin);
}

/** What of a request says where it goes. */
type Where = Pick<OutboundRequest, 'origin' | 'path' | 'network' | 'localPort'>;

interface Ways {
  readonly routes: Routes;
  readonly networks: Networks;
  readonly local: LocalServers | undefined;
}
