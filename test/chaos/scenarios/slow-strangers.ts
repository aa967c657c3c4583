// A stranger who is slow at each door: bytes that drip, wrong keys and pages at a steady pace, and then as many pages as
// can be asked for.
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { ChatService } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { makeCertificates } from '../../support/certificates.ts';
import { many } from '../caller.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { atMost, isTrue, type Scenario, type Verdict } from '../scenario.ts';

const RPC = `/${ChatService.typeName}/${ChatService.method.createChatCompletion.name}`;
const CONNECTIONS = 3;
/** Requests of a stranger who asks at a steady pace. */
const PER_SECOND = 20;
/** Requests for one page of one who asks as fast as it can. */
const FLOOD = 2000;
const SPAN_MS = 5000;
const IDLE_MS = 5000;
/** Of calls without a key, and of pages, in a second. */
const RATE = 50;
/** For debugging: each door alone, with its share. */
const EACH = process.env.CHAOS_EACH_DOOR !== undefined;

/** Sends its next byte; a connection that was ended is opened again. */
type Drip = () => void;

/** Bytes of HTTP/1 over a connection, one at a time. */
function dripping(connect: () => net.Socket, begin: string, each: string): Drip {
  let socket: net.Socket | undefined;
  return () => {
    if (socket === undefined || socket.destroyed || socket.writableEnded) {
      socket = connect();
      socket.on('error', () => {}).on('end', () => socket?.destroy());
      socket.resume();
      socket.write(begin);
    } else socket.write(each);
  };
}

const post = (path: string, type = 'application/json', more = ''): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\n${more}content-length: 5000\r\n\r\n`;
const upgrade = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;
/** A frame of HTTP/2. */
const frame = (type: number, flags: number, stream: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
};
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(4, 0, 0, Buffer.alloc(0)),
]).toString('latin1');

function drips({ port }: GatewayProcess, securePort: number): Readonly<Record<string, () => Drip>> {
  const plain = (): net.Socket => net.connect(port, '127.0.0.1');
  const secure = (): net.Socket =>
    tls.connect({ port: securePort, host: '127.0.0.1', rejectUnauthorized: false });
  const one =
    (begin: string, each = ' ', connect = plain): (() => Drip) =>
    () =>
      dripping(connect, begin, each);
  const bodies = [
    ...['/v1/chat/completions', '/v1/logs', '/v1/sessions', '/v1/files', '/proxy', '/v1/proxy/x'],
    ...['/mcp', '/admin/mcp', '/scim/v2/Users', '/oauth/register', '/metrics', '/console/x', RPC],
  ];
  return {
    'half a request line': one('POST /v1/ch', 'x'),
    'a header without an end': one('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\na: ', 'x'),
    'many headers': one('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n', 'a: b\r\n'),
    ...Object.fromEntries(bodies.map((path) => [`a body for ${path}`, one(post(path))])),
    'a form for /oauth/token': one(post('/oauth/token', 'application/x-www-form-urlencoded'), 'a'),
    'a form for /sign-in/logout': one(post('/sign-in/logout', 'application/x-www-form-urlencoded'), 'a'),
    'a message of Connect': one(post(RPC, 'application/proto')),
    'a message of gRPC-Web': one(post(RPC, 'application/grpc-web+proto'), '\0'),
    'a chunk at a time': one(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n',
      '1\r\n \r\n',
    ),
    'an upgrade to realtime': one(upgrade('/v1/realtime?model=x'), 'a: b\r\n'),
    'an upgrade to responses': one(upgrade('/v1/responses'), 'a: b\r\n'),
    'pings of HTTP/2': one(PREFACE, frame(6, 0, 0, Buffer.alloc(8)).toString('latin1')),
    'settings of HTTP/2': one(PREFACE, frame(4, 0, 0, Buffer.alloc(0)).toString('latin1')),
    'headers of HTTP/2 without an end': one(
      PREFACE + frame(1, 0, 1, Buffer.from([0x82])).toString('latin1'),
      frame(9, 0, 1, Buffer.alloc(0)).toString('latin1'),
    ),
    'a handshake of TLS': one('\x16\x03\x01\x02\x00\x01\x00\x01\xfc', '\x03', () =>
      net.connect(securePort, '127.0.0.1'),
    ),
    'a header over TLS': one('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\na: ', 'x', secure),
    'a stream of gRPC': () => grpcDrip(port),
  };
}

/** A message of gRPC, a byte at a time. */
function grpcDrip(port: number): Drip {
  let session: http2.ClientHttp2Session | undefined;
  let stream: http2.ClientHttp2Stream | undefined;
  return () => {
    if (session === undefined || session.closed || session.destroyed) {
      session = http2.connect(`http://127.0.0.1:${port}`).on('error', () => {});
    } else if (stream === undefined || stream.closed || stream.destroyed) {
      stream = session.request({ ':method': 'POST', ':path': RPC, 'content-type': 'application/grpc' });
      stream.on('error', () => {}).resume();
    } else stream.write('\0');
  };
}

/** Whole requests of a stranger, by turns. */
const ASKED: readonly (readonly [verb: string, path: string, key?: string])[] = [
  ['GET', '/v1/models'],
  ['GET', '/v1/models', 'slk_wrong'],
  ['POST', '/v1/chat/completions', 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.eA'],
  ['POST', '/mcp', 'wrong'],
  ['POST', '/v1/sessions'],
  ['POST', '/oauth/token'],
  ['POST', '/oauth/register'],
  ['GET', '/oauth/authorize?client_id=x&redirect_uri=https://a.b'],
  ['GET', '/.well-known/oauth-protected-resource/mcp'],
  ['GET', '/.well-known/oauth-authorization-server'],
  ['GET', '/scim/v2/Users', 'sct_wrong'],
  ['GET', '/invite'],
  ['GET', '/sign-in'],
  ['GET', '/exports/x'],
  ['GET', '/healthz'],
  ['GET', '/readyz'],
  ['GET', '/metrics'],
  ['GET', '/openapi.json'],
  ['GET', '/docs/'],
  ['GET', '/docs/security'],
  ['GET', '/console/'],
  ['GET', '/nothing'],
];

function ask(port: number, agent: http.Agent, at: number): Promise<number> {
  const [method, path, key] = ASKED[at % ASKED.length]!;
  const headers = {
    'content-type': 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  return new Promise((resolve) => {
    const request = http.request({ port, method, path, agent, headers }, (res) => {
      res.resume().on('close', () => resolve(res.statusCode ?? 0));
    });
    request.on('error', () => resolve(0)).end(method === 'POST' ? '{}' : undefined);
  });
}

/** What the gateways take of a core while that runs, in percent. */
async function shareOfCore(
  gateways: readonly GatewayProcess[],
  during: () => Promise<unknown>,
): Promise<number> {
  const seconds = () => gateways.reduce((sum, one) => sum + one.cpuSeconds(), 0);
  const cpu = seconds();
  const since = performance.now();
  await during();
  return (100 * (seconds() - cpu)) / ((performance.now() - since) / 1000);
}

const scenario: Scenario = {
  name: 'slow-strangers',
  attack: `a stranger drips a byte a second at ${CONNECTIONS} connections of each of 29 doors, over HTTP/1, HTTP/2, TLS, gRPC and WebSocket; asks for ${PER_SECOND} things a second; and then for as many as can be had`,
  bound:
    'slow: 5 % of a core above what the gateway takes without them; fast: beyond GATEWAY_FAILED_CALLS_PER_SECOND all are 429; at most 64 MB; no turn over 50 ms',
  test: 'test/edge/floods.test.ts',
  async run(lab) {
    const { server } = await makeCertificates();
    const [cert, key] = [join(lab.folder, 'cert.pem'), join(lab.folder, 'key.pem')];
    writeFileSync(cert, server.cert);
    writeFileSync(key, server.key);
    const [gateway, secure] = await Promise.all([
      lab.startGateway({
        GATEWAY_FAILED_CALLS_PER_SECOND: String(RATE),
        GATEWAY_CONNECTIONS_PER_SECOND: EACH ? '5000' : String(RATE),
      }),
      lab.startGateway({ TLS_CERT_PATH: cert, TLS_KEY_PATH: key }),
    ]);
    const both = [gateway, secure];
    const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
    lab.onEnd(() => agent.destroy());
    // What is read and compressed once is no part of an attack.
    for (let i = 0; i < ASKED.length; i++) await ask(gateway.port, agent, i);
    await sleep(IDLE_MS);
    const memoryMb = gateway.residentMb() + secure.residentMb();
    const idle = await shareOfCore(both, () => sleep(IDLE_MS));
    for (const one of both) await one.longestTurnMs();
    const verdicts: Verdict[] = [];
    const above = (what: string, share: number): void => {
      verdicts.push(atMost(`${what}: share of a core above ${idle.toFixed(1)} %`, share - idle, 5, '%'));
    };

    for (const [name, open] of Object.entries(EACH ? drips(gateway, secure.port) : {})) {
      const one = many(40, open);
      const each = setInterval(() => one.forEach((drop) => void drop()), 1000);
      await sleep(1500);
      const share = await shareOfCore(both, () => sleep(4000));
      clearInterval(each);
      console.log(`  ${(share - idle).toFixed(1).padStart(6)} %  ${name}`);
    }
    const all = Object.values(drips(gateway, secure.port)).flatMap((open) => many(CONNECTIONS, open));
    const drip = (): void => all.forEach((each) => void each());
    const timer = setInterval(drip, 1000);
    lab.onEnd(() => clearInterval(timer));
    drip();
    await sleep(3000);
    above(`${all.length} connections that drip`, await shareOfCore(both, () => sleep(SPAN_MS)));
    clearInterval(timer);

    let [served, asked, cpu, seconds] = [0, 0, 0, 0];
    await sleep(2000);
    const steady = await shareOfCore(both, async () => {
      for (let i = 0; i < (PER_SECOND * SPAN_MS) / 1000; i++)
        await Promise.all([ask(gateway.port, agent, i), sleep(1000 / PER_SECOND)]);
    });
    above(`${PER_SECOND} requests a second`, steady);

    for (const [, path] of ASKED.filter(([verb, , key]) => verb === 'GET' && key === undefined)) {
      const before = gateway.cpuSeconds();
      const since = performance.now();
      served += await flood(gateway.port, path, FLOOD);
      asked += FLOOD;
      cpu += gateway.cpuSeconds() - before;
      seconds += (performance.now() - since) / 1000;
    }
    // What may come at once, and the rate; of calls without a key as of pages.
    const most = 2 * RATE * (10 + seconds + 12);
    verdicts.push(
      atMost(`answers to ${asked} requests in ${seconds.toFixed(1)} s`, served, Math.ceil(most), 'answers'),
      atMost('processor time of one that is refused', (1000 * cpu) / asked, 0.25, 'ms'),
    );
    const longest = Math.max(await gateway.longestTurnMs(), await secure.longestTurnMs());
    return [
      ...verdicts,
      atMost('memory', gateway.residentMb() + secure.residentMb() - memoryMb, 64, 'MB'),
      atMost('longest turn of the event loop', longest, 50, 'ms'),
      isTrue('a caller is answered', await gateway.healthy()),
    ];
  },
};
export default scenario;

/** So many requests for one page, as fast as they are answered. @returns how many were neither 429 nor ended */
async function flood(port: number, path: string, count: number): Promise<number> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  let served = 0;
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const status = await new Promise<number>((resolve) => {
        http
          .get(
            { port, path, agent },
            (res) => void res.resume().on('close', () => resolve(res.statusCode ?? 0)),
          )
          .on('error', () => resolve(0));
      });
      if (status !== 0 && status !== 429) served++;
    }
  };
  await Promise.all(many(16, work));
  agent.destroy();
  return served;
}
