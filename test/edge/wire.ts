// A client that writes bytes as they are, and reads answers one after the other.
import net, { type Socket } from 'node:net';

/** One answer, as it stood on the wire. */
export interface WireAnswer {
  readonly status: number;
  /** The first line and the headers, in order. */
  readonly lines: readonly string[];
  /** By lower-case name; the last of a name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const WAIT_MS = 60_000;

export class Wire {
  readonly socket: Socket;
  #got = Buffer.alloc(0);
  #ended = false;
  #wake: () => void = () => {};

  constructor(port: number) {
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    this.socket.on('error', () => {});
    this.socket.on('data', (bytes) => {
      this.#got = Buffer.concat([this.#got, bytes]);
      this.#wake();
    });
    for (const event of ['end', 'close'])
      this.socket.on(event, () => {
        this.#ended = true;
        this.#wake();
      });
  }

  write(bytes: string | Buffer): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    return this;
  }

  /** The next answer. @throws Error when none comes within the time */
  async answer(): Promise<WireAnswer> {
    const at = await this.#find('\r\n\r\n', 0);
    const lines = this.#got.toString('latin1', 0, at).split('\r\n');
    const headers = Object.fromEntries(
      lines.slice(1).map((line) => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
      }),
    );
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(lines[0]!)?.[1]);
    const start = at + 4;
    let end = start;
    if (headers['transfer-encoding'] === 'chunked') end = (await this.#find('0\r\n\r\n', start)) + 5;
    else if (status !== 100) end = start + Number(headers['content-length']);
    await this.#until(() => this.#got.length >= end);
    const body = this.#got.toString('utf8', start, end);
    this.#got = this.#got.subarray(end);
    return { status, lines, headers, body };
  }

  /** Resolves when the gateway has ended the connection. @returns what came and was not read */
  async ended(): Promise<string> {
    await this.#until(() => this.#ended);
    this.socket.destroy();
    return this.#got.toString('latin1');
  }

  async #find(what: string, from: number): Promise<number> {
    await this.#until(() => this.#got.includes(what, from));
    return this.#got.indexOf(what, from);
  }

  async #until(holds: () => boolean): Promise<void> {
    const deadline = Date.now() + WAIT_MS;
    while (!holds()) {
      const left = deadline - Date.now();
      if (left <= 0 || (this.#ended && !this.socket.readable))
        throw new Error(`not what was waited for: ${this.#got.toString('latin1', 0, 300)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}

/** A request's bytes; the length is its body's. */
export function post(
  headers: Readonly<Record<string, string>>,
  body: string | object,
  path = '/v1/chat/completions',
): Buffer {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const all = { host: 'x', 'content-type': 'application/json', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${path} HTTP/1.1\r\n${lines.join('')}content-length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
}
