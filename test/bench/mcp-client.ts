// MCP clients of both generations on bare sockets, so that the bench measures servers and not an SDK.
import http from 'node:http';

export type Era = 'older' | 'newer';

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

/** One client with one connection, its session begun when its generation has any. */
export class BenchClient {
  readonly #url: URL;
  readonly #era: Era;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  #session: Readonly<Record<string, string>> = {};
  #last = 0;
  #stream: http.IncomingMessage | undefined;

  constructor(url: string, era: Era, headers: Readonly<Record<string, string>>) {
    this.#url = new URL(url);
    this.#era = era;
    this.#headers = headers;
  }

  async begin(): Promise<void> {
    if (this.#era === 'newer') return;
    const clientInfo = { name: 'bench', version: '1' };
    const answer = await this.#send('initialize', {
      protocolVersion: LEGACY,
      capabilities: {},
      clientInfo,
    });
    const id = answer.headers['mcp-session-id'];
    this.#session = {
      'mcp-protocol-version': LEGACY,
      ...(typeof id === 'string' ? { 'mcp-session-id': id } : {}),
    };
    await this.#post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }), {});
  }

  /** Calls the tool once. @returns milliseconds @throws Error for any answer but the tool's */
  async call(): Promise<number> {
    const text = `bench ${this.#last}`;
    const since = performance.now();
    const answer = await this.#send('tools/call', { name: 'echo', arguments: { text } });
    const took = performance.now() - since;
    if (!answer.text.includes(`"text":"${text}"`)) throw new Error(`${answer.status} ${answer.text}`);
    return took;
  }

  /** Opens the stream of notices. */
  async listen(): Promise<void> {
    const { request, body } = this.#listening();
    const stream = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.on('response', resolve);
      request.on('error', reject);
      request.end(body);
    });
    this.#stream = stream;
    stream.on('error', () => {});
    stream.resume();
    if (stream.statusCode !== 200)
      throw new Error(`the stream of notices has the status ${stream.statusCode}`);
  }

  get isListening(): boolean {
    return this.#stream !== undefined && !this.#stream.readableEnded && !this.#stream.destroyed;
  }

  close(): void {
    this.#stream?.destroy();
    this.#agent.destroy();
  }

  #listening(): { readonly request: http.ClientRequest; readonly body: string | undefined } {
    const accept = { accept: 'text/event-stream' };
    // A connection of its own: it stays busy.
    if (this.#era === 'older') {
      const headers = { ...this.#headers, ...this.#session, ...accept };
      return { request: http.request(this.#url, { headers, agent: false }), body: undefined };
    }
    const { body, headers } = this.#message('subscriptions/listen', {
      notifications: { toolsListChanged: true },
    });
    const request = http.request(this.#url, {
      method: 'POST',
      headers: { ...this.#headers, ...headers, 'content-type': 'application/json', ...accept },
      agent: false,
    });
    return { request, body };
  }

  #send(method: string, params: object): Promise<Answer> {
    const { body, headers } = this.#message(method, params);
    return this.#post(body, headers);
  }

  #message(method: string, params: object): { body: string; headers: Record<string, string> } {
    const id = ++this.#last;
    if (this.#era === 'older')
      return { body: JSON.stringify({ jsonrpc: '2.0', id, method, params }), headers: {} };
    const { name } = params as { readonly name?: string };
    return {
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: META } }),
      headers: {
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': name }),
      },
    };
  }

  #post(body: string, own: Readonly<Record<string, string>>): Promise<Answer> {
    const headers = {
      ...this.#headers,
      ...this.#session,
      ...own,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      accept: 'application/json, text/event-stream',
    };
    return new Promise((resolve, reject) => {
      const request = http.request(this.#url, { method: 'POST', headers, agent: this.#agent }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (piece: string) => {
          text += piece;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
        answer.on('error', reject);
      });
      request.on('error', reject);
      request.end(body);
    });
  }
}
