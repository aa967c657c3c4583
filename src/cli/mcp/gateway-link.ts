// HTTP to a gateway's MCP endpoint for a local client: bare requests, whose answers are JSON or a stream of events.
import http from 'node:http';
import https from 'node:https';
import { FrameReader } from '../../mcp/wire/sse-frames.ts';

/** Longest message in either direction, in UTF-16 units. */
export const MOST_MESSAGE = 64 * 2 ** 20;

export interface LinkRequest {
  readonly verb: 'POST' | 'GET' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface LinkAnswer {
  readonly status: number;
  readonly session: string | undefined;
  readonly isEvents: boolean;
  /** Messages as JSON text, as they come; for one reader, who must read or end it. */
  readonly messages: AsyncGenerator<string, void>;
}

export class GatewayLink {
  readonly #url: URL;
  readonly #key: string;
  readonly #agent: http.Agent;

  /** @param url of the endpoint */
  constructor(url: URL, key: string) {
    this.#url = url;
    this.#key = key;
    const options = { keepAlive: true };
    this.#agent = url.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options);
  }

  /** @throws Error of the network, and the signal's */
  send({ verb, headers, body, signal }: LinkRequest): Promise<LinkAnswer> {
    const { request } = this.#url.protocol === 'https:' ? https : http;
    const own = { authorization: `Bearer ${this.#key}`, ...headers };
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { method: verb, headers: { ...own, ...length }, agent: this.#agent, signal };
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, options, (answer) => {
        const session = answer.headers['mcp-session-id'];
        const isEvents = /^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '');
        resolve({
          status: answer.statusCode ?? 0,
          session: typeof session === 'string' ? session : undefined,
          isEvents,
          messages: isEvents ? eventsOf(answer) : wholeOf(answer),
        });
      });
      sent.once('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function* eventsOf(answer: http.IncomingMessage): AsyncGenerator<string, void> {
  const reader = new FrameReader(MOST_MESSAGE);
  for await (const piece of answer)
    for (const { data = '' } of reader.push(piece as Uint8Array)) if (data !== '') yield data;
}

async function* wholeOf(answer: http.IncomingMessage): AsyncGenerator<string, void> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    bytes += (piece as Buffer).length;
    if (bytes > MOST_MESSAGE) throw new Error(`the gateway sent more than ${MOST_MESSAGE} bytes`);
    pieces.push(piece as Buffer);
  }
  if (bytes > 0) yield Buffer.concat(pieces).toString('utf8');
}
