// Servers on this machine: each at its own port, for the calls that name it, from a gateway that listens on loopback.
import { createServer, type Server } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import { createDialer } from '../../../src/lib/egress/dialer.ts';

const signal = new AbortController().signal;
const requestTo = (origin: string, localPort?: number) => ({
  origin,
  path: '/v1/models',
  method: 'GET',
  headers: [],
  body: undefined,
  signal,
  localPort,
});

async function serve(t: ExecutionContext): Promise<number> {
  const server: Server = createServer((_, answer) => answer.end('{}')).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => void server.close());
  return (server.address() as { port: number }).port;
}

for (const host of ['127.0.0.1', 'localhost'])
  test(`a call that names the port of ${host} goes there, and no other call does`, async (t) => {
    const [port, other] = [await serve(t), await serve(t)];
    const dialer = createDialer({ allow: parseAllowList(''), localServers: true });
    t.teardown(() => dialer.close());
    const { status } = await dialer.whole(requestTo(`http://${host}:${port}`, port), 1000);
    t.is(status, 200);
    for (const request of [
      requestTo(`http://${host}:${port}`),
      requestTo(`http://${host}:${port}`, other),
      requestTo(`http://${host}:${other}`, port),
      requestTo(`http://127.0.0.2:${port}`, port),
      requestTo(`http://10.0.0.1:${port}`, port),
    ])
      await t.throwsAsync(dialer.whole(request, 1000), { message: /GATEWAY_EGRESS_ALLOW/ });
    t.notThrows(() => dialer.check(`http://${host}:${port}/v1`, 'x', port));
    t.throws(() => dialer.check(`http://${host}:${port}/v1`, 'x', other), {
      message: /GATEWAY_EGRESS_ALLOW/,
    });
    t.throws(() => dialer.check(`http://${host}:${port}/v1`, 'x'), { message: /GATEWAY_EGRESS_ALLOW/ });
  });

test('a gateway on another address calls none', async (t) => {
  const port = await serve(t);
  const dialer = createDialer({ allow: parseAllowList('') });
  t.teardown(() => dialer.close());
  await t.throwsAsync(dialer.whole(requestTo(`http://127.0.0.1:${port}`, port), 1000), {
    message: /127\.0\.0\.1:\d+ to GATEWAY_EGRESS_ALLOW/,
  });
});
