// From an origin to the pool of connections that serves it; the static rules run once per origin, not per request.
import { type buildConnector, Pool } from 'undici';
import { fail } from '../errors.ts';
import type { AllowList } from './allow-list.ts';
import { type ConnectSettings, connectDirect } from './connector.ts';
import { absoluteForm, type CompanyProxy } from './proxy.ts';
import { judgeUrl, type Target } from './url-rules.ts';

/** How one origin is reached. */
export interface Route {
  readonly pool: Pool;
  /** Opens a connection that is in no pool. */
  readonly connect: buildConnector.connector;
  /** The host as the caller named it, for messages. */
  readonly host: string;
  /** Prefix of the path in requests that a proxy forwards (absolute-form); empty otherwise. */
  readonly forward: string;
  /** Header pairs for the proxy. */
  readonly extraHeaders: readonly string[];
  /** Whether a target that asks for one is shown a client certificate; undefined: no network of one's own is used. */
  readonly proves: boolean | undefined;
  /** Set by use, cleared by the search for a route to give up. */
  used: boolean;
}

/** Callers may name hosts without end; so many pools are kept. */
const MOST_ROUTES = 1024;

// Below the 5 s after which common servers close idle connections. A server's own keep-alive hint counts instead.
const KEEP_ALIVE_MS = 4000;
const LONGEST_KEEP_ALIVE_MS = 60_000;
const MAX_HEAD_BYTES = 64 * 1024;

/** What is different where the routes are those of one network. */
export interface RoutesOptions {
  readonly mostRoutes?: number;
  readonly proves?: boolean;
}

/** All routes of one dialer, or of one network of it. */
export class Routes {
  #routes = new Map<string, Route>();
  #settings: ConnectSettings;
  #allow: AllowList;
  #proxy: CompanyProxy | undefined;
  #direct: (target: Target) => boolean;
  #closed = false;
  #mostRoutes: number;
  #proves: boolean | undefined;

  /** @param direct which targets a proxy is not asked for */
  constructor(
    settings: ConnectSettings,
    allow: AllowList,
    proxy: CompanyProxy | undefined,
    direct: (target: Target) => boolean,
    { mostRoutes = MOST_ROUTES, proves }: RoutesOptions = {},
  ) {
    this.#settings = settings;
    this.#allow = allow;
    this.#proxy = proxy;
    this.#direct = direct;
    this.#mostRoutes = mostRoutes;
    this.#proves = proves;
  }

  /** @throws GatewayError host_refused */
  to(origin: string): Route {
    const known = this.#routes.get(origin);
    if (known !== undefined) {
      known.used = true;
      return known;
    }
    if (this.#closed) throw fail('overloaded', 'the gateway is shutting down');
    const route = this.#open(judgeUrl(origin, 'origin', this.#allow, false), origin);
    if (this.#routes.size >= this.#mostRoutes) this.#giveUpOne();
    this.#routes.set(origin, route);
    return route;
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    const pools = [...this.#routes.values()].map((route) => route.pool.destroy());
    this.#routes.clear();
    await Promise.all([...pools, this.#proxy?.close()]);
  }

  /** Takes no further call; resolves when the running ones are finished. */
  async retire(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#routes.values()].map((route) => route.pool.close()));
    await this.#proxy?.close();
  }

  #open(target: Target, origin: string): Route {
    const proxy = this.#direct(target) ? undefined : this.#proxy;
    const forwarded = proxy !== undefined && target.protocol === 'http:';
    const connect =
      proxy === undefined
        ? connectDirect(this.#settings, target, this.#allow)
        : forwarded
          ? proxy.connectForward
          : proxy.connectTunnel;
    const pool = new Pool(origin, {
      connect,
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: LONGEST_KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
    });
    return {
      pool,
      connect,
      host: target.host,
      forward: forwarded ? absoluteForm(target) : '',
      extraHeaders: forwarded ? proxy.headers : [],
      proves: target.protocol === 'https:' ? this.#proves : undefined,
      used: false,
    };
  }

  /** Second chance: gives up the oldest route that was unused since the last search. Its running exchanges finish. */
  #giveUpOne(): void {
    for (const [origin, route] of this.#routes) {
      this.#routes.delete(origin);
      if (!route.used) {
        route.pool.close().then(undefined, () => {});
        return;
      }
      route.used = false;
      this.#routes.set(origin, route);
    }
  }
}
