// Bytes of a connection are parsed a slice in a turn, none is lost, and a reader that pauses is waited for.
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import test from 'ava';
import { readInSlices } from '../../src/edge/read-in-slices.ts';
import { until } from './child.ts';

const CHUNKS = 100_000;

test('a body in chunks of one byte is parsed in slices, whole, before the next request', async (t) => {
  let most = 0;
  let ofTurn = 0;
  const lengths: number[] = [];
  const server = http.createServer((req, res) => {
    readInSlices(req.socket);
    let length = 0;
    req.on('data', (piece: Buffer) => {
      length += piece.length;
      most = Math.max(most, ++ofTurn);
      if (ofTurn === 1)
        setImmediate(() => {
          ofTurn = 0;
        });
      if (length % 10_000 === 0) {
        req.pause();
        setTimeout(() => req.resume(), 1);
      }
    });
    req.on('end', () => {
      lengths.push(length);
      res.end('ok');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';
  socket.write(head);
  await once(server, 'request');
  const body = `${'1\r\nx\r\n'.repeat(CHUNKS)}0\r\n\r\n`;
  socket.write(body + head + body);
  let answers = '';
  socket.on('data', (bytes) => {
    answers += bytes.toString('latin1');
  });
  await until(() => lengths.length === 2);
  t.deepEqual(lengths, [CHUNKS, CHUNKS]);
  await until(() => answers.match(/HTTP\/1\.1 200/g)?.length === 2);
  socket.destroy();
  // A slice, and what waited for a reader that paused; of a whole read it would be 10,900.
  t.true(most <= 3000, `${most}`);
});

test('a client that leaves in the middle of a slice is noticed', async (t) => {
  let closed = false;
  const server = http.createServer((req) => {
    readInSlices(req.socket, Buffer.from('1\r\nx\r\n'.repeat(5000)));
    req.resume().on('close', () => {
      closed = true;
    });
    req.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
  await once(server, 'request');
  socket.destroy();
  await until(() => closed);
  t.true(closed);
});
