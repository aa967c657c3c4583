// A provider that answers what a test says, and keeps what it was asked.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Record<string, unknown>;

/** What it answers: JSON, or events. */
export interface Script {
  readonly status?: number;
  readonly json?: unknown;
  /** Objects with a `type` have it as their event's name. */
  readonly events?: readonly unknown[];
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ScriptedProvider {
  readonly origin: string;
  /** The bodies of all requests so far. */
  readonly asked: Json[];
  close(): void;
}

/** @param sent takes each request's credential and its body as it came */
export async function startScriptedProvider(
  script: Script,
  sent: { key: string; body: string }[] = [],
): Promise<ScriptedProvider> {
  const asked: Json[] = [];
  const server = http.createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    req.on('end', () => {
      sent.push({ key: req.headers.authorization ?? '', body });
      asked.push(body.startsWith('{') ? (JSON.parse(body) as Json) : {});
      const { status = 200, json, events, headers } = script;
      const type = events === undefined ? 'application/json' : 'text/event-stream';
      res.writeHead(status, { 'content-type': type, ...headers });
      res.end(events === undefined ? JSON.stringify(json) : events.map(eventText).join(''));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function eventText(event: unknown): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  const { type } = event as { readonly type?: string };
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
}
