// Floods of HTTP/2 (CVE-2023-44487 and its like): frames that cost the engine more than their sender. Callers go on.
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const [HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE] = [1, 3, 4, 8] as const;
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

async function raw({ port }: TestGateway, more: Buffer = Buffer.alloc(0)): Promise<Raw> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  await once(socket, 'connect');
  socket.write(Buffer.concat([PREFACE, more]));
  return { socket, received: () => Buffer.concat(pieces) };
}

/** Whether the stream has an answer. */
function isAnswered(bytes: Buffer, stream: number): boolean {
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    if (bytes[at + 3] === HEADERS && bytes.readUInt32BE(at + 5) === stream) return true;
  return false;
}

async function withGateway(run: (gateway: TestGateway) => Promise<void>): Promise<void> {
  const gateway = await startGateway();
  try {
    await run(gateway);
  } finally {
    await gateway.close();
  }
}

const FLOODS: Readonly<Record<string, (gateway: TestGateway) => Promise<Raw>>> = {
  'streams that are reset as soon as they are opened': async (gateway) => {
    const one = await raw(gateway);
    one.socket.write(opened(1, 600));
    return one;
  },
  'the same in the first bytes of a connection': (gateway) => raw(gateway, opened(1, 600)),
  'windows that grow without end': async (gateway) => {
    const one = await raw(gateway);
    const windows = Buffer.concat(
      Array.from({ length: 5000 }, () => frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1]))),
    );
    const more = (): void => {
      while (!one.socket.destroyed && one.socket.write(windows));
    };
    one.socket.on('drain', more);
    more();
    return one;
  },
};

for (const [what, begin] of Object.entries(FLOODS))
  test(`${what}: the connection ends, and callers are answered over HTTP/1 and HTTP/2`, (t) =>
    withGateway(async (gateway) => {
      const { socket } = await begin(gateway);
      await eventually('the connection ends', () => socket.closed);
      const answer = await fetch(`${gateway.origin}/v1/configs`, {
        headers: { 'x-gateway-api-key': ADMIN_KEY },
      });
      t.is(answer.status, 200);
      const client = connectHttp2(gateway.origin);
      const request = client.request({ ':path': '/v1/configs', 'x-gateway-api-key': ADMIN_KEY });
      const [headers] = (await once(request, 'response')) as [{ readonly ':status'?: number }];
      t.is(headers[':status'], 200);
      client.destroy();
    }));

test('after a flood the connections of an address that speak HTTP/2 are read one after the other, and too many are ended', (t) =>
  withGateway(async (gateway) => {
    const first = await raw(gateway, opened(1, 600));
    await eventually('the flood ends', () => first.socket.closed);
    const others = await Promise.all(
      Array.from({ length: 20 }, () => raw(gateway, frame(HEADERS, 5, 1, BLOCK))),
    );
    await eventually('some are ended', () => others.some(({ socket }) => socket.closed));
    await eventually('one is answered', () => others.some(({ received }) => isAnswered(received(), 1)));
    t.true(others.filter(({ received }) => isAnswered(received(), 1)).length < 10, 'not all at once');
    for (const { socket } of others) socket.destroy();
  }));

test('some resets are taken', (t) =>
  withGateway(async (gateway) => {
    const { socket, received } = await raw(gateway);
    socket.write(opened(1, 40));
    socket.write(frame(HEADERS, 5, 101, BLOCK));
    await eventually('an answer', () => isAnswered(received(), 101));
    t.false(socket.closed);
    socket.destroy();
  }));
