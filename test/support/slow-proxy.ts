// A TCP proxy that holds back what a server answers: alive, and slow.
import net, { type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface SlowProxy {
  readonly port: number;
  /** How long each piece of an answer is held back, in milliseconds; asked for each. Order is kept. */
  delay: () => number;
  close(): Promise<void>;
}

export async function startSlowProxy(port: number): Promise<SlowProxy> {
  const sockets = new Set<Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    let before: Promise<unknown> = Promise.resolve();
    far.on('data', (piece) => {
      const ms = proxy.delay();
      const late = ms === 0 ? undefined : sleep(ms);
      before = Promise.all([before, late]).then(() => near.writable && near.write(piece));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: SlowProxy = {
    port: (server.address() as AddressInfo).port,
    delay: () => 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return proxy;
}
