// Streams of HTTP/2 that are opened and reset at once (CVE-2023-44487): a connection has few of them, callers go on.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const [HEADERS, RST_STREAM, SETTINGS, GOAWAY] = [1, 3, 4, 7] as const;
const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0)]);
/** GET http://a/ in HPACK. */
const BLOCK = Buffer.concat([Buffer.from([0x82, 0x86, 0x84, 0x41, 1]), Buffer.from('a')]);
const CANCEL = Buffer.from([0, 0, 0, 8]);

/** Streams from the first on, each reset as soon as it is opened. */
const opened = (first: number, count: number): Buffer =>
  Buffer.concat(
    Array.from({ length: count }, (_, i) => first + 2 * i).flatMap((id) => [
      frame(HEADERS, 5, id, BLOCK),
      frame(RST_STREAM, 0, id, CANCEL),
    ]),
  );

interface Raw {
  readonly socket: Socket;
  readonly received: () => Buffer;
}

async function raw(): Promise<Raw> {
  const socket = connect(gateway.port, '127.0.0.1');
  socket.on('error', () => {});
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  await once(socket, 'connect');
  socket.write(PREFACE);
  return { socket, received: () => Buffer.concat(pieces) };
}

function hasGoaway(bytes: Buffer): boolean {
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    if (bytes[at + 3] === GOAWAY) return true;
  return false;
}

async function answered(): Promise<number> {
  const headers = { 'x-gateway-api-key': ADMIN_KEY };
  return (await fetch(`${gateway.origin}/v1/configs`, { headers })).status;
}

test('more resets at once than a connection may have end it', async (t) => {
  const { socket, received } = await raw();
  socket.write(opened(1, 600));
  await eventually('the connection ends', () => socket.closed);
  t.true(hasGoaway(received()), 'by its resets, and not because it asked for nothing');
  t.is(await answered(), 200);
});

test('some resets are taken', async (t) => {
  const { socket, received } = await raw();
  socket.write(opened(1, 40));
  socket.write(frame(HEADERS, 5, 101, BLOCK));
  await eventually('an answer', () => {
    const bytes = received();
    for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
      if (bytes[at + 3] === HEADERS && bytes.readUInt32BE(at + 5) === 101) return true;
    return false;
  });
  t.false(socket.closed);
  socket.destroy();
});
