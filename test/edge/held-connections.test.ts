// Connections that are held: strangers' are few, callers' live.
import http2 from 'node:http2';
import net, { type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { type Bench, raw, startBench } from '../contract/runner.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { until } from './child.ts';
import { Wire } from './wire.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench({ GATEWAY_MAX_CONNECTIONS_PER_ADDRESS: '20' });
});
test.after.always(() => bench?.close());

function silent(
  t: ExecutionContext,
  count: number,
  says: string,
): { sockets: Socket[]; closed: () => number } {
  let closed = 0;
  const sockets = Array.from({ length: count }, () => {
    const socket = net.connect(bench.gateway.port, '127.0.0.1', () => void socket.write(says));
    socket.on('error', () => {}).on('close', () => closed++);
    socket.resume();
    return socket;
  });
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()));
  return { sockets, closed: () => closed };
}

const models = `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${WORKSPACE_KEY}\r\n\r\n`;

for (const [what, says] of [
  ['nothing', ''],
  ['half a request line', 'POST /v1/cha'],
  ['half a head', 'GET /v1/models HTTP/1.1\r\nhost: x\r\n'],
  ["HTTP/2's preface", 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
] as const)
  test.serial(`strangers who say ${what} make room, callers do not`, async (t) => {
    const caller = new Wire(bench.gateway.port).write(models);
    t.teardown(() => void caller.socket.destroy());
    t.is((await caller.answer()).status, 200);
    const session = http2.connect(bench.gateway.origin);
    session.on('error', () => {});
    t.teardown(() => session.destroy());
    const ask = (): Promise<number> =>
      new Promise((resolve) => {
        const stream = session.request({ ':path': '/v1/models', 'x-gateway-api-key': WORKSPACE_KEY });
        stream.on('response', (headers) => resolve(Number(headers[':status'])));
        stream.resume();
      });
    t.is(await ask(), 200);
    const first = silent(t, 30, says);
    await until(() => first.closed() >= 12);
    // Those that are left are a moment old by now: they make room for new callers.
    await until(async () => {
      const answer = await raw(bench.gateway.origin, { path: '/healthz' }).catch(() => undefined);
      return answer?.status === 200;
    });
    t.is((await caller.write(models).answer()).status, 200);
    t.is(await ask(), 200);
  });
