// A wire to a port that can fall silent: nothing is refused and nothing is closed, but no byte passes.
import net, { type AddressInfo } from 'node:net';

export interface Wire {
  readonly port: number;
  freeze(): void;
  /** What came before is lost; new connections pass. */
  thaw(): void;
  close(): Promise<void>;
}

/** @param port on loopback */
export async function startWire(port: number): Promise<Wire> {
  const sockets = new Set<net.Socket>();
  let isFrozen = false;
  const server = net.createServer((socket) => {
    const onward = net.connect(port, '127.0.0.1');
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      if (isFrozen) one.pause();
      else one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    thaw() {
      isFrozen = false;
      for (const socket of sockets) socket.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
