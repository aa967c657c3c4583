// Requests that one connection with a valid key pipelines begin a few in each turn of the event loop, and are answered in order.
import net from 'node:net';
import test from 'ava';
import { createListener } from '../../src/edge/listener.ts';
import { until } from './child.ts';

const REQUESTS = 400;

test('hundreds of pipelined requests do not begin in one turn', async (t) => {
  let [inTurn, most] = [0, 0];
  const listener = createListener({
    dispatch(req, res) {
      listener.prove(req);
      if (inTurn++ === 0)
        setImmediate(() => {
          most = Math.max(most, inTurn);
          inTurn = 0;
        });
      res.end(`<${req.url}>`);
    },
    limits: { total: 10, perAddress: 10 },
    tls: undefined,
  });
  const { port } = await listener.listen('127.0.0.1', 0);
  const socket = net.connect(port, '127.0.0.1');
  t.teardown(async () => {
    socket.destroy();
    await listener.drain(100);
  });
  let got = '';
  socket.on('data', (bytes) => {
    got += bytes.toString('latin1');
  });
  const get = (i: number): string => `GET /${i} HTTP/1.1\r\nhost: x\r\n\r\n`;
  socket.write(get(0));
  await until(() => got.includes('</0>'));
  socket.write(Array.from({ length: REQUESTS }, (_, i) => get(i + 1)).join(''));
  await until(() => got.includes(`</${REQUESTS}>`));
  const order = [...got.matchAll(/<\/(\d+)>/g)].map(([, number]) => Number(number));
  t.deepEqual(
    order,
    Array.from({ length: REQUESTS + 1 }, (_, i) => i),
  );
  t.true(most <= 65, `${most} in one turn`);
});
