// The internet as a gateway sees it through a company's proxy: hosts by their names, over TLS, each answered on this machine.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificates } from './certificates.ts';

export interface Internet {
  /** The settings that a gateway reaches it by. */
  readonly env: Readonly<Record<'HTTPS_PROXY' | 'GATEWAY_EXTRA_CA', string>>;
  /** The hosts that were connected to, each once. */
  readonly connected: Set<string>;
  close(): Promise<void>;
}

/**
 * @param hosts names of hosts and what answers in their place: the origin of a server on this machine, or a function.
 *   Other hosts cannot be reached
 */
export async function startInternet(
  hosts: Readonly<Record<string, string | http.RequestListener>>,
): Promise<Internet> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-internet-'));
  const { authority, server: pair } = await makeCertificates(Object.keys(hosts));
  const ca = join(folder, 'authority.pem');
  await writeFile(ca, authority.cert);
  const connected = new Set<string>();
  const sockets = new Set<Socket>();
  const secure = https.createServer(pair, (req, res) => {
    const answer = hosts[(req.headers.host ?? '').replace(/:\d+$/, '')];
    if (typeof answer === 'function') answer(req, res);
    else if (answer !== undefined) forward(answer, req, res);
    else res.writeHead(404).end();
  });
  const proxy = http.createServer((_, res) => res.writeHead(400).end());
  proxy.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  proxy.on('connect', (req: http.IncomingMessage, socket: Socket) => {
    socket.on('error', () => {});
    const host = (req.url ?? '').replace(/:\d+$/, '');
    if (!(host in hosts)) return void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    connected.add(host);
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    secure.emit('connection', socket);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    env: { HTTPS_PROXY: `http://127.0.0.1:${port}`, GATEWAY_EXTRA_CA: ca },
    connected,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => proxy.close(() => resolve()));
      await rm(folder, { recursive: true });
    },
  };
}

function forward(origin: string, req: http.IncomingMessage, res: http.ServerResponse): void {
  const { method = 'GET', headers, url = '/' } = req;
  const onward = http.request(new URL(url, origin), { method, headers }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
  });
  onward.on('error', () => res.destroy());
  req.pipe(onward);
}
