// A server on a free loopback port that takes every POST and keeps it.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

export interface WebhookReceiver {
  /** http://127.0.0.1:port/alerts */
  readonly url: string;
  readonly received: Received[];
  /** Statuses of the next answers; 200 when there are none left. */
  readonly statuses: number[];
  close(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: Received[] = [];
  const statuses: number[] = [];
  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      received.push({ headers: req.headers, body: Buffer.concat(chunks).toString('utf8') });
      res.writeHead(statuses.shift() ?? 200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts?team=1`,
    received,
    statuses,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
