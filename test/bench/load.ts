// The load generator as a process of its own: node test/bench/load.ts, the job as JSON on
// stdin, the result as one line of JSON on stdout. wrk replaces it for closed loops where present.
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createInterface, type Interface } from 'node:readline';
import type {
  ClosedJob,
  FirstEventJob,
  IdleJob,
  Job,
  LoadResult,
  PacedJob,
  PacedResult,
  Shot,
} from './jobs.ts';
import { median } from './median.ts';

/** What one exchange brought. */
interface Outcome {
  readonly right: boolean;
  readonly bytes: number;
  readonly ms: number;
}

function open(shot: Shot, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers: Record<string, string | number> = { ...shot.headers };
    if (shot.body !== undefined) {
      headers['content-type'] = 'application/json';
      headers['content-length'] = Buffer.byteLength(shot.body);
    }
    const req = request(shot.url, { method: shot.method, headers, agent }, resolve);
    req.on('error', reject);
    req.end(shot.body);
  });
}

async function exchange(shot: Shot, agent: Agent): Promise<Outcome> {
  const start = performance.now();
  let bytes = 0;
  let right = false;
  try {
    const res = await open(shot, agent);
    const chunks: Buffer[] = [];
    for await (const chunk of res as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (shot.events !== undefined) chunks.push(chunk);
    }
    right = res.statusCode === 200 && isRight(shot, bytes, chunks);
  } catch {
    // Counted as wrong.
  }
  return { right, bytes, ms: performance.now() - start };
}

function isRight({ events, bytes, ending }: Shot, received: number, chunks: readonly Buffer[]): boolean {
  if (bytes !== undefined && received !== bytes) return false;
  if (events === undefined) return received > 0;
  const text = Buffer.concat(chunks).toString('utf8');
  const found = text.split('data: ').length - 1;
  if (ending !== undefined) return text.endsWith(ending) && found === events;
  return text.endsWith('data: [DONE]\n\n') && found === events + 1;
}

async function closed({ shot, connections, seconds, count }: ClosedJob): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const start = performance.now();
  const until = start + (seconds ?? 3600) * 1000;
  let left = count ?? Number.POSITIVE_INFINITY;
  const times: number[] = [];
  let wrong = 0;
  let bytes = 0;
  const worker = async (): Promise<void> => {
    while (left > 0 && performance.now() < until) {
      left--;
      const outcome = await exchange(shot, agent);
      bytes += outcome.bytes;
      if (outcome.right) times.push(outcome.ms);
      else wrong++;
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  agent.destroy();
  const answers = times.length;
  return { answers, wrong, bytes, seconds: (performance.now() - start) / 1000, p50Ms: median(times), cut: 0 };
}

/** Streams one after the other, the targets in turn; milliseconds to the first event, in order, per target. */
async function firstEvent({ shots, count }: FirstEventJob): Promise<number[][]> {
  const agents = shots.map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const times: number[][] = shots.map(() => []);
  const warmUp = Math.ceil(count / 5);
  for (let i = 0; i < count + warmUp; i++) {
    for (let turn = 0; turn < shots.length; turn++) {
      const at = (turn + i) % shots.length;
      const start = performance.now();
      const res = await open(shots[at]!, agents[at]!);
      let first: number | undefined;
      for await (const chunk of res as AsyncIterable<Buffer>) {
        if (first === undefined && chunk.includes('data: ')) first = performance.now() - start;
      }
      if (res.statusCode !== 200 || first === undefined)
        throw new Error(`${shots[at]!.url}: no event (status ${res.statusCode})`);
      if (i >= warmUp) times[at]!.push(first);
    }
  }
  for (const agent of agents) agent.destroy();
  return times;
}

/** Opens streams, says "open" once each had its first event, keeps them until the next line comes in. */
async function idle({ shot, streams }: IdleJob, lines: AsyncIterator<string>): Promise<number> {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  let ended = 0;
  const openOne = async (): Promise<void> => {
    const res = await open(shot, agent);
    if (res.statusCode !== 200) throw new Error(`${shot.url}: status ${res.statusCode}`);
    res.on('close', () => {
      ended++;
    });
    res.on('error', () => {});
    await new Promise<void>((resolve) => res.once('data', () => resolve()));
    res.on('data', () => {});
  };
  // Fifty at a time, as clients come; all at once would measure the backlog.
  for (let done = 0; done < streams; done += 50)
    await Promise.all(Array.from({ length: Math.min(50, streams - done) }, openOne));
  process.stdout.write('open\n');
  await lines.next();
  const stillOpen = streams - ended;
  agent.destroy();
  return stillOpen;
}

/** Says "begun", and what came of all that were sent by the next line. */
async function paced({ shot, perSecond }: PacedJob, lines: AsyncIterator<string>): Promise<PacedResult> {
  const client = new LeanClient(shot);
  const times: number[] = [];
  const open = new Set<Promise<void>>();
  let wrong = 0;
  let running = true;
  process.stdout.write('begun\n');
  void lines.next().then(() => {
    running = false;
  });
  const start = performance.now();
  for (let sent = 0; running; ) {
    const due = ((performance.now() - start) * perSecond) / 1000;
    for (; sent < due; sent++) {
      const [place, at] = [sent, start + (sent * 1000) / perSecond];
      const one: Promise<void> = client.exchange().then((right) => {
        if (!right) wrong++;
        times[place] = performance.now() - at;
        open.delete(one);
      });
      open.add(one);
    }
    const next = start + (sent * 1000) / perSecond - performance.now();
    await new Promise((resolve) => setTimeout(resolve, Math.max(1, Math.round(next))));
  }
  await Promise.all(open);
  client.close();
  const begun = performance.timeOrigin + start;
  return { times: times.map((ms) => Math.round(ms * 100) / 100), wrong, begun };
}

/**
 * Sends the same request over connections that are kept. What it costs is a tenth of node:http's, since it shares the
 * machine with what is measured: half a core of it would be in every figure.
 */
class LeanClient {
  readonly #bytes: Buffer;
  readonly #host: string;
  readonly #port: number;
  readonly #idle: Connection[] = [];

  constructor({ url, method, headers, body = '' }: Shot) {
    const { hostname, port, pathname, search } = new URL(url);
    const fields = Object.entries({
      host: `${hostname}:${port}`,
      ...headers,
      'content-type': 'application/json',
    });
    const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    this.#bytes = Buffer.from(
      `${method} ${pathname}${search} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    this.#host = hostname;
    this.#port = Number(port);
  }

  /** Resolves when the answer is whole; false: it was none, or another than 200. */
  async exchange(): Promise<boolean> {
    const connection = this.#idle.pop() ?? new Connection(this.#host, this.#port);
    const right = await connection.send(this.#bytes);
    if (connection.open) this.#idle.push(connection);
    return right;
  }

  close(): void {
    for (const connection of this.#idle) connection.close();
  }
}

/** One connection with one request at a time. */
class Connection {
  open = true;
  readonly #socket: Socket;
  #answered: (right: boolean) => void = () => {};
  #got = '';
  #whole = Number.POSITIVE_INFINITY;

  constructor(host: string, port: number) {
    this.#socket = connect({ host, port, noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text: string) => this.#take(text));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.open = false;
      this.#answered(false);
    });
  }

  send(bytes: Buffer): Promise<boolean> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#got += text;
    if (this.#whole === Number.POSITIVE_INFINITY) {
      const end = this.#got.indexOf('\r\n\r\n');
      if (end === -1) return;
      const length = /\r\ncontent-length: (\d+)/i.exec(this.#got.slice(0, end));
      if (length === null) throw new Error('an answer without a length');
      this.#whole = end + 4 + Number(length[1]);
    }
    if (this.#got.length < this.#whole) return;
    const right = this.#got.startsWith('HTTP/1.1 200 ') && this.#got.length === this.#whole;
    this.#got = '';
    this.#whole = Number.POSITIVE_INFINITY;
    this.#answered(right);
  }
}

async function main(): Promise<unknown> {
  const reader: Interface = createInterface({ input: process.stdin });
  const lines = reader[Symbol.asyncIterator]();
  const job = JSON.parse(String((await lines.next()).value)) as Job;
  switch (job.kind) {
    case 'closed':
      return closed(job);
    case 'first-event':
      return firstEvent(job);
    case 'idle':
      return idle(job, lines);
    case 'paced':
      return paced(job, lines);
  }
}

main().then(
  (result) => {
    process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
