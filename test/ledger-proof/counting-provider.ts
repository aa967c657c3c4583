// A provider that keeps its own count, by the id of each attempt (x-client-request-id): what it saw, what it
// answered, and whether all of it was sent.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the provider saw of one attempt. */
export interface SeenAttempt {
  readonly id: string;
  readonly status: number;
  /** Of the report in its answer; 0 for a refusal. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Its answer was written to the end. */
  sent: boolean;
}

export interface CountingProvider {
  readonly origin: string;
  readonly seen: ReadonlyMap<string, SeenAttempt>;
  /** Ids that came more than once, and requests without one. */
  readonly twice: readonly string[];
  readonly nameless: () => number;
  close(): Promise<void>;
}

/** The model that always fails; others do as the first message says. */
export const FAILING = 'gpt-4.1-nano';

interface Asked {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly { readonly content: string }[];
}

const EVENTS = 6;

export async function startCountingProvider(): Promise<CountingProvider> {
  const seen = new Map<string, SeenAttempt>();
  const twice: string[] = [];
  let nameless = 0;
  let count = 0;
  const answer = (req: http.IncomingMessage, res: http.ServerResponse, asked: Asked): void => {
    const header = req.headers['x-client-request-id'];
    const id = typeof header === 'string' ? header : `nameless-${++nameless}`;
    if (seen.has(id)) twice.push(id);
    const number = count++;
    const how = String(asked.messages[0]?.content);
    const fails = asked.model === FAILING || (how === 'flaky' && number % 2 === 0);
    const tokens = fails ? [0, 0] : [1 + (number % 89), 1 + (number % 57)];
    const attempt: SeenAttempt = {
      id,
      status: fails ? 500 : 200,
      promptTokens: tokens[0] ?? 0,
      completionTokens: tokens[1] ?? 0,
      sent: false,
    };
    seen.set(id, attempt);
    res.on('finish', () => {
      attempt.sent = true;
    });
    if (fails) {
      refuse(res);
      return;
    }
    const wait = how === 'slow' ? 100 + (number % 10) * 50 : number % 4;
    setTimeout(() => {
      if (asked.stream) stream(res, asked.model, attempt, how === 'long' ? 200 : how === 'slow' ? 30 : 1);
      else whole(res, asked.model, attempt);
    }, wait);
  };
  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => answer(req, res, JSON.parse(Buffer.concat(chunks).toString('utf8')) as Asked));
    req.on('error', () => undefined);
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    twice,
    nameless: () => nameless,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function usageOf({ promptTokens, completionTokens }: SeenAttempt): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

function refuse(res: http.ServerResponse): void {
  res.writeHead(500, { 'content-type': 'application/json', 'retry-after-ms': '5' });
  res.end('{"error":{"message":"no","type":"server_error"}}');
}

function whole(res: http.ServerResponse, model: string, attempt: SeenAttempt): void {
  const message = { role: 'assistant', content: 'Hello there.' };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const body = { id: 'x', object: 'chat.completion', created: 1, model, choices, usage: usageOf(attempt) };
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}

function stream(res: http.ServerResponse, model: string, attempt: SeenAttempt, everyMs: number): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const common = { id: 'x', object: 'chat.completion.chunk', created: 1, model };
  let sent = 0;
  const timer = setInterval(() => {
    if (res.destroyed) return clearInterval(timer);
    if (sent++ < EVENTS) {
      const delta = { role: 'assistant', content: `part ${sent} ` };
      const choices = [{ index: 0, delta, finish_reason: sent === EVENTS ? 'stop' : null }];
      res.write(`data: ${JSON.stringify({ ...common, choices })}\n\n`);
      return;
    }
    clearInterval(timer);
    res.end(
      `data: ${JSON.stringify({ ...common, choices: [], usage: usageOf(attempt) })}\n\ndata: [DONE]\n\n`,
    );
  }, everyMs);
}
