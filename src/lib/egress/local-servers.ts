// Servers that people run on their own machine: a gateway that only this machine can reach may call each at its one port of
// the loopback interface, for the calls that name it and for no others.
import { type AllowList, parseAllowList } from './allow-list.ts';
import type { ConnectSettings } from './connector.ts';
import { Routes } from './route.ts';

const LOOPBACK = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost):(\d{1,5})(?:\/|$)/;

/** Whether an address is the given port of this machine. */
export function isLocalServer(url: string, port: number): boolean {
  return LOOPBACK.exec(url)?.[1] === String(port);
}

/** The routes to local servers, made with the first call of each. No proxy is asked for them. */
export class LocalServers {
  readonly #settings: ConnectSettings;
  readonly #routes = new Map<number, Routes>();

  constructor(settings: ConnectSettings) {
    this.#settings = settings;
  }

  routesTo(port: number): Routes {
    let routes = this.#routes.get(port);
    if (routes === undefined) {
      routes = new Routes(this.#settings, allowOf(port), undefined, () => true);
      this.#routes.set(port, routes);
    }
    return routes;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#routes.values()].map((routes) => routes.close()));
  }
}

function allowOf(port: number): AllowList {
  return parseAllowList(['127.0.0.1', '[::1]', 'localhost'].map((host) => `${host}:${port}`).join(','));
}
