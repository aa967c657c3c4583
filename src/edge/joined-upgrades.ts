// Several kinds of WebSockets on one port: each has paths of its own.
import type { Upgrades } from './responses-socket.ts';

/** The first one that accepts a request answers it. */
export function joinedUpgrades(all: readonly Upgrades[]): Upgrades {
  return {
    wants: (req) => all.some((one) => one.wants(req)),
    upgrade(req, socket, head) {
      const own = all.find((one) => one.wants(req));
      if (own === undefined) socket.destroy();
      else own.upgrade(req, socket, head);
    },
    drain() {
      for (const one of all) one.drain();
    },
    async cut() {
      await Promise.all(all.map((one) => one.cut()));
    },
  };
}
