// Connections of networks: each has its own pools. They are closed when its document changes, when they were unused
// for a while, and when there are too many of them.
import type { SecureContext } from 'node:tls';
import { fail } from '../errors.ts';
import type { AllowList } from './allow-list.ts';
import { trust } from './authorities.ts';
import type { ConnectSettings } from './connector.ts';
import type { Network } from './network.ts';
import { createProxy } from './proxy.ts';
import { Routes } from './route.ts';
import type { Target } from './url-rules.ts';

/** What all of them share. */
export interface NetworksDeps {
  readonly settings: ConnectSettings;
  readonly allow: AllowList;
  /** The gateway's own proxy, and what is called past it. */
  readonly httpsProxy: string | undefined;
  readonly noProxy: (target: Target) => boolean;
  /** Authorities in PEM that the gateway trusts in addition to the default roots. */
  readonly extraCa: string | undefined;
  /** How long unused connections are held, in milliseconds; default 300,000. */
  readonly idleMs?: number | undefined;
}

interface Held {
  readonly network: Network;
  readonly routes: Routes;
  /** By the process's own clock, in milliseconds. */
  usedAt: number;
}

/** A network with its own authorities holds 1.3 MB, and takes 8 ms to make: its context has all default roots as well. */
const MOST_NETWORKS = 128;
/** Origins of one network: hosts of models that an integration names. */
const MOST_ORIGINS = 16;
const IDLE_MS = 300_000;

/** The connections of all networks of one dialer. */
export class Networks {
  /** By id and version; the one used last is last. */
  #held = new Map<string, Held>();
  #leaving = new Set<Routes>();
  #deps: NetworksDeps;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(deps: NetworksDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError overloaded, host_refused for the proxy, upstream_unreachable for certificates of no use */
  routesOf(network: Network): Routes {
    const key = `${network.id} ${network.version}`;
    const held = this.#held.get(key) ?? this.#open(network);
    held.usedAt = performance.now();
    this.#held.delete(key);
    this.#held.set(key, held);
    return held.routes;
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    const all = [...[...this.#held.values()].map(({ routes }) => routes), ...this.#leaving];
    this.#held.clear();
    await Promise.all(all.map((routes) => routes.close()));
  }

  #open(network: Network): Held {
    if (this.#closed) throw fail('overloaded', 'the gateway is shutting down');
    const held = { network, routes: routesFor(network, this.#deps), usedAt: 0 };
    for (const [key, { network: other }] of this.#held) {
      if (other.id === network.id && other.version < network.version) this.#retire(key);
    }
    const [oldest] = this.#held.keys();
    if (oldest !== undefined && this.#held.size >= MOST_NETWORKS) this.#retire(oldest);
    const idleMs = this.#deps.idleMs ?? IDLE_MS;
    this.#timer ??= setInterval(() => this.#sweep(idleMs), idleMs / 4).unref();
    return held;
  }

  #sweep(idleMs: number): void {
    const latest = performance.now() - idleMs;
    for (const [key, { usedAt }] of this.#held) if (usedAt < latest) this.#retire(key);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Takes it out of the map; running exchanges finish. */
  #retire(key: string): void {
    const routes = this.#held.get(key)?.routes;
    this.#held.delete(key);
    if (routes === undefined) return;
    this.#leaving.add(routes);
    const gone = () => void this.#leaving.delete(routes);
    routes.retire().then(gone, gone);
  }
}

function routesFor(network: Network, deps: NetworksDeps): Routes {
  const { allow, extraCa } = deps;
  const { clientCertificate: cert, clientKey: key, caCertificates: own, proxyUrl } = network;
  const authorities = [extraCa, own].filter((pem) => pem !== undefined).join('\n') || undefined;
  const proof = cert === undefined || key === undefined ? undefined : { cert, key };
  const settings = { ...deps.settings, secureContext: usable(authorities, proof) };
  const toProxy = { ...deps.settings, secureContext: usable(authorities, undefined) };
  const proxy =
    proxyUrl === undefined
      ? deps.httpsProxy && createProxy(deps.httpsProxy, settings, { toProxy: deps.settings })
      : createProxy(proxyUrl, settings, { toProxy, allow });
  const direct = proxyUrl === undefined ? deps.noProxy : () => false;
  return new Routes(settings, allow, proxy || undefined, direct, {
    mostRoutes: MOST_ORIGINS,
    proves: proof !== undefined,
  });
}

/** What OpenSSL says of a key stays in the cause. */
function usable(
  authorities: string | undefined,
  proof: { readonly cert: string; readonly key: string } | undefined,
): () => SecureContext {
  let context: SecureContext | undefined;
  return () => {
    try {
      context ??= trust(authorities, proof)();
      return context;
    } catch (cause) {
      const text = "the certificates of the integration's network cannot be used";
      throw fail('upstream_unreachable', text, { cause });
    }
  };
}
