// What is read here is what node:http reads of the very same bytes: one request, the same one, and nothing after it.
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import test from 'ava';
import fc from 'fast-check';
import { KnownHead, type PlainHead, readPlain } from '../../../src/edge/plain/head.ts';

/** What node:http made of a connection. */
interface Read {
  readonly requests: { url: string; headers: http.IncomingHttpHeaders; body: string }[];
  readonly errors: string[];
}

const reads = new Map<number, Read>();
const server = http.createServer({ maxHeaderSize: 65_536 }, (req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const { method, url = '', headers } = req;
    const body = Buffer.concat(chunks).toString('latin1');
    reads
      .get(req.socket.remotePort ?? 0)
      ?.requests.push({ url: method === 'POST' ? url : '', headers, body });
    res.end('read');
  });
});
server.on('connection', (socket: Socket) => {
  reads.set(socket.remotePort ?? 0, { requests: [], errors: [] });
});
server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
  reads.get((socket as Socket).remotePort ?? 0)?.errors.push(error.code ?? error.message);
  socket.destroy();
});
test.before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
test.after.always(() => {
  server.closeAllConnections();
  server.close();
});

/** Gives the bytes to node:http; the connection is ended once they are answered. */
async function readByNode(bytes: Buffer): Promise<Read> {
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  socket.setTimeout(3000, () => socket.destroy());
  await once(socket, 'connect');
  const { localPort } = socket;
  socket.once('data', () => socket.end());
  socket.write(bytes);
  await once(socket, 'close');
  const read = reads.get(localPort ?? 0) ?? { requests: [], errors: ['not read'] };
  reads.delete(localPort ?? 0);
  return read;
}

/** A request before it is bytes. */
interface Written {
  readonly line: string;
  readonly fields: readonly string[];
  readonly body: string;
  readonly behind: string;
}

const usually = <T>(usual: T, ...odd: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: odd.length * 9, arbitrary: fc.constant(usual) }, ...odd.map((one) => fc.constant(one)));

const lines = usually(
  'POST /v1/chat/completions HTTP/1.1',
  ...[
    'POST /v1/embeddings HTTP/1.1',
    'POST /v1/%63hat/completions?a=b HTTP/1.1',
    'POST /v1/chat#part HTTP/1.1',
  ],
  ...[
    'POST http://x/v1/chat/completions HTTP/1.1',
    'POST * HTTP/1.1',
    'POST //x/y HTTP/1.1',
    'POST /"<>\\^`{|} HTTP/1.1',
  ],
  ...[
    'POST /v1 http/1.1',
    'POST /v1 HTTP/1.0',
    'POST /v1 HTTP/1.1 ',
    'POST  /v1 HTTP/1.1',
    'POST /v1\tHTTP/1.1',
  ],
  ...[
    'post /v1 HTTP/1.1',
    'GET /v1 HTTP/1.1',
    'PUT /v1 HTTP/1.1',
    ' POST /v1 HTTP/1.1',
    '\r\nPOST /v1 HTTP/1.1',
  ],
  ...[
    'POST /v1 HTTP/1.1\r',
    'POST /v1 HTTP/2.0',
    'POST /\x00 HTTP/1.1',
    'POST /\xe9 HTTP/1.1',
    'POST /v1 HTTP/1.1\n',
  ],
);
const blanks = usually(' ', '', '\t', ' \t  ', '\x0b', '\xa0');
const blanksBehind = usually('', ' ', '\t \t', '\x0c', '\xa0');
const value = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((c) => String.fromCharCode(c)), maxLength: 12 }),
  usually('application/json', '', 'a\tb', '\x00', 'caf\xe9', 'a\rb', 'a\nb', 'a\r\n b', '\x7f', '\x1b[0m'),
);
const name = usually(
  'x-gateway-trace-id',
  ...[
    'Accept',
    'user-agent',
    'COOKIE',
    'set-cookie',
    'Set-Cookie',
    '1',
    'constructor',
    '-',
    'x_y',
    '__proto__',
    "x!#$%&'*+.^`|~",
  ],
  ...[
    'x y',
    'x ',
    '',
    ' x',
    'caf\xe9',
    'keep-alive',
    'age',
    'te',
    'Expect',
    'Upgrade',
    'Trailer',
    'Origin',
    'HTTP2-Settings',
  ],
  ...['transfer-encoding', 'Proxy-Connection', 'x:', 'x\x00'],
);
const field = fc.tuple(name, blanks, value, blanksBehind).map(([n, a, v, b]) => `${n}:${a}${v}${b}`);
const length = usually(
  'N',
  ...[
    '+N',
    ' N',
    'N ',
    'N\t',
    '00N',
    'N, N',
    'N,N',
    '0xN',
    'Ne0',
    '-N',
    'N.0',
    '',
    '99999999',
    '4294967296',
    '18446744073709551616',
  ],
  ...[
    'N\r\nContent-Length: N',
    'N\r\ncontent-length: 0',
    'N\r\nTransfer-Encoding: chunked',
    'N\x00',
    '\x0bN',
    'N\r\n\tN',
  ],
);
const connection = usually(
  undefined,
  'keep-alive',
  'Keep-Alive',
  'close',
  'keep-alive, close',
  'upgrade',
  '',
  'x',
);
const bodies = fc.oneof(
  fc.json().map((text) => Buffer.from(text).toString('latin1')),
  usually('{}', '', '\r\n\r\n', '\x00\xff'),
);

const requests: fc.Arbitrary<Written> = fc
  .record({
    line: lines,
    host: usually(
      'Host: x',
      'host:x',
      'HOST: \t x:80 ',
      'Host:',
      'Host: x\r\nHost: y',
      'x-host: x',
      'Host : x',
      ' Host: x',
    ),
    extra: fc.array(field, { maxLength: 3 }),
    length,
    connection,
    body: bodies,
    behind: usually('', '\r\n', 'x', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', '\n'),
    order: fc.infiniteStream(fc.nat()),
  })
  .map(({ line, host, extra, length: told, connection: kept, body, behind, order }) => {
    const fields = [host, `Content-Length: ${told.replaceAll('N', String(body.length))}`, ...extra];
    if (kept !== undefined) fields.push(`Connection: ${kept}`);
    const sorted = fields.map((one) => ({ one, at: order.next().value as number }));
    sorted.sort((a, b) => a.at - b.at);
    return { line, fields: sorted.map(({ one }) => one), body, behind };
  });

/** One byte is put in, taken away or replaced. */
interface Slip {
  readonly act: 'insert' | 'remove' | 'replace';
  /** Of the whole's length. */
  readonly at: number;
  readonly byte: number;
}

const slip: fc.Arbitrary<Slip> = fc.record({
  act: fc.constantFrom('insert', 'remove', 'replace'),
  at: fc.double({ min: 0, max: 0.999, noNaN: true }),
  byte: fc.constantFrom(...[0, 9, 10, 11, 13, 32, 0x3a, 0x30, 0x41, 0x5f, 0x7f, 0x80, 0xff]),
});
const slips = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(slip, { minLength: 1, maxLength: 2 }) },
);

function bytesOf({ line, fields, body, behind }: Written, made: readonly Slip[]): Buffer {
  let text = `${[line, ...fields].join('\r\n')}\r\n\r\n${body}${behind}`;
  for (const { act, at, byte } of made) {
    const place = Math.floor(at * text.length);
    const put = act === 'remove' ? '' : String.fromCharCode(byte);
    text = text.slice(0, place) + put + text.slice(place + (act === 'insert' ? 0 : 1));
  }
  return Buffer.from(text, 'latin1');
}

const asRead = ({ url, headers, body }: PlainHead): object => ({
  url,
  headers,
  body: body.toString('latin1'),
});

test('whatever is accepted, node:http reads as that one request', async (t) => {
  const runs = 3000;
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(requests, slips, async (written, made) => {
      const bytes = bytesOf(written, made);
      const head = readPlain(bytes);
      if (head === undefined || !head.isWhole) return;
      accepted++;
      const { requests: read, errors } = await readByNode(bytes);
      const text = JSON.stringify(bytes.toString('latin1'));
      if (errors.length > 0 || read.length !== 1) throw new Error(`${text}: ${read.length} and ${errors}`);
      // As texts, which tell the order of the headers too.
      if (JSON.stringify(read[0]) !== JSON.stringify(asRead(head)))
        throw new Error(`${text}: ${JSON.stringify(read[0])}, not ${JSON.stringify(asRead(head))}`);
    }),
    { numRuns: runs },
  );
  t.true(accepted > runs / 10 && accepted < (runs * 9) / 10, `${accepted} of ${runs}`);
});

test('a head is read as the first of its connection is, whatever came before on it', (t) => {
  const runs = 2000;
  let same = 0;
  // One of a connection is often the one before, whole or with a slip.
  const turns = fc.array(fc.record({ written: requests, isAgain: fc.boolean(), made: slips }), {
    minLength: 2,
    maxLength: 6,
  });
  fc.assert(
    fc.property(turns, (given) => {
      const known = new KnownHead();
      let before: Written | undefined;
      for (const { written, isAgain, made } of given) {
        const one = isAgain && before !== undefined ? before : written;
        before = one;
        const bytes = bytesOf(one, made);
        const [first, later] = [readPlain(bytes), readPlain(bytes, known)];
        if (first !== undefined && isAgain) same++;
        if (JSON.stringify(first && asRead(first)) !== JSON.stringify(later && asRead(later)))
          throw new Error(`${JSON.stringify(bytes.toString('latin1'))}: ${JSON.stringify(later)}`);
      }
      if (known.fields.length > 24) throw new Error('more lines are kept than are told');
    }),
    { numRuns: runs },
  );
  t.true(same > runs / 10, `${same} of ${runs}`);
});

test('a line that is known elsewhere, or in part, is read anew', (t) => {
  const known = new KnownHead();
  const later = (...fields: string[]): object | undefined => {
    const found = readPlain(Buffer.from(head(['host: x', 'content-length: 0', ...fields])), known);
    return found?.headers;
  };
  const base = { host: 'x', 'content-length': '0' };
  t.deepEqual(later('a: 1', 'b: 2'), { ...base, a: '1', b: '2' });
  t.deepEqual(later('b: 2', 'a: 1'), { ...base, b: '2', a: '1' });
  t.deepEqual(later('b: 22', 'a: 1'), { ...base, b: '22', a: '1' });
  t.is(later('b: 22', 'b: 22'), undefined, 'a name twice');
  t.is(later('b: 22', 'B: 22'), undefined);
  t.deepEqual(later('b: 22'), { ...base, b: '22' });
});

const head = (fields: readonly string[], line = 'POST /v1/chat/completions HTTP/1.1'): string =>
  `${[line, ...fields].join('\r\n')}\r\n\r\n`;
const read = (text: string): PlainHead | undefined => readPlain(Buffer.from(text, 'latin1'));

test('what clients send is accepted', (t) => {
  const whole = read(
    `${head(['Host: x', 'connection: Keep-Alive', 'Content-Type:application/json', 'X-Empty:', 'authorization: \tBearer a b \t', 'content-length: 2'])}{}`,
  );
  t.deepEqual(whole && asRead(whole), {
    url: '/v1/chat/completions',
    headers: {
      host: 'x',
      connection: 'Keep-Alive',
      'content-type': 'application/json',
      'x-empty': '',
      authorization: 'Bearer a b',
      'content-length': '2',
    },
    body: '{}',
  });
});

for (const [what, text] of [
  ['nothing', ''],
  ['no end', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n'],
  ['bare LF', 'POST / HTTP/1.1\nhost: x\ncontent-length: 0\n\n'],
  ['a folded line', head(['host: x', 'a: b', ' c', 'content-length: 0'])],
  ['a field twice', head(['host: x', 'a: b', 'A: b', 'content-length: 0'])],
  ['both lengths', head(['host: x', 'content-length: 0', 'transfer-encoding: chunked'])],
  ['a length twice', head(['host: x', 'content-length: 0', 'content-length: 0'])],
  ['no length', head(['host: x'])],
  ['no host', head(['content-length: 0'])],
  ['a space before the colon', head(['host: x', 'content-length : 0'])],
  ['a long body', head(['host: x', 'content-length: 65537'])],
  ['an encoded body', head(['host: x', 'content-length: 0', 'content-encoding: gzip'])],
  ['a second request', head(['host: x', 'content-length: 0']).repeat(2)],
  ['an end of the connection', head(['host: x', 'content-length: 0', 'connection: close'])],
  ['a set-cookie, which is a list elsewhere', head(['host: x', 'content-length: 0', 'set-cookie: a=b'])],
  ['a long head', head(['host: x', 'content-length: 0', `a: ${'b'.repeat(33_000)}`])],
  [
    'many fields',
    head(['host: x', 'content-length: 0', ...Array.from({ length: 1200 }, (_, i) => `x${i}:`)]),
  ],
] as const) {
  test(`${what}: not judged here`, (t) => {
    t.is(read(text), undefined);
  });
}

test('a head whose body has not come is told from what is not plain', (t) => {
  t.is(read(head(['host: x', 'content-length: 1']))?.isWhole, false);
  t.is(read(`${head(['host: x', 'content-length: 3'])}ab`)?.isWhole, false);
  t.is(read(`${head(['host: x', 'content-length: 2'])}ab`)?.isWhole, true);
});

test('long runs of one character are looked through once', (t) => {
  for (const fill of [' ', '\t', 'a', ':', '/', '\r', '\r\n', 'a:\r\n', '\r\n '])
    for (const start of ['', 'POST ', 'POST /', 'POST / HTTP/1.1\r\n', 'POST / HTTP/1.1\r\nhost:']) {
      const bytes = Buffer.from(`${start}${fill.repeat(30_000 / fill.length)}\x01\r\n\r\n`);
      const before = process.cpuUsage();
      t.is(readPlain(bytes), undefined);
      const { user, system } = process.cpuUsage(before);
      // A square of the length takes some 400 ms.
      t.true(user + system < 150_000, `${JSON.stringify(start + fill)}: ${user + system} microseconds`);
    }
});
