// A secret manager on a loopback socket: the test says what it answers, and sees what it was asked.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { parseAllowList } from '../../src/lib/egress/allow-list.ts';
import { createDialer } from '../../src/lib/egress/dialer.ts';
import type { Dialer } from '../../src/lib/egress/outbound.ts';

export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Answered {
  readonly status?: number;
  readonly body: unknown;
}

export interface FakeManager {
  readonly url: string;
  readonly asked: Asked[];
}

/** Starts one; it ends with the test. `answer` may never settle. */
export async function fakeManager(
  t: ExecutionContext,
  answer: (asked: Asked) => Answered | Promise<Answered>,
): Promise<FakeManager> {
  const asked: Asked[] = [];
  const server = createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', async () => {
      const { method = '', headers } = req;
      const one = {
        method,
        url: new URL(req.url ?? '', `http://${headers.host}`),
        headers,
        body: Buffer.concat(pieces).toString(),
      };
      asked.push(one);
      const { status = 200, body } = await answer(one);
      res.writeHead(status);
      res.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** A dialer that may call loopback; closed at the end of the test. */
export function loopbackDialer(t: ExecutionContext): Dialer {
  const dialer = createDialer({ allow: parseAllowList('127.0.0.1/32') });
  t.teardown(() => dialer.close());
  return dialer;
}
