// Servers of one line, answered for as if they spoke streamable HTTP with sessions: a session is one line of this
// process, and each request's messages are a stream of their own.
import { randomUUID } from 'node:crypto';
import type { AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import { isRequest, type RpcMessage } from '../wire/json-rpc.ts';
import { RPC } from '../wire/mcp-error.ts';
import { Inbox } from './inbox.ts';
import type { Line, LineTarget } from './line.ts';

/** A request of streamable HTTP. */
export interface LineRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Flat pairs of the protocol. */
  readonly headers: readonly string[];
  readonly body?: string;
  readonly signal: AbortLike;
}

export interface LinesDeps {
  /** @param over to be called once, when the line has ended @throws GatewayError when there can be none */
  readonly make: (target: LineTarget, over: () => void) => Line;
  /** Lines at once: of all callers, and of one owner where lines have any. */
  readonly most: number;
  readonly mostOfOwner?: number;
}

const IDLE_MS = 600_000;
const SWEEP_MS = 60_000;
const SESSION = 'mcp-session-id';

export class Lines {
  readonly #deps: LinesDeps;
  /** By session, in the order of their last use. */
  readonly #lines = new Map<string, Line>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: LinesDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError what the dialer throws, upstream_garbage, overloaded */
  async exchange(target: LineTarget, request: LineRequest): Promise<StreamedAnswer> {
    const { method, headers, body = '', signal } = request;
    const id = headers[headers.indexOf(SESSION) + 1];
    if (!headers.includes(SESSION) || id === undefined) {
      const message = method === 'POST' ? (JSON.parse(body) as RpcMessage) : undefined;
      const isFirst = message !== undefined && isRequest(message) && message.method === 'initialize';
      return isFirst ? this.#begin(target, message, signal) : refused(400, 'Bad Request: initialize first');
    }
    const line = this.#used(id, target);
    if (line === undefined) return refused(404, 'Session not found');
    if (method === 'GET') return events(line.listen(signal));
    if (method === 'DELETE') {
      line.close();
      return answer(200, 'text/plain', '');
    }
    const message = JSON.parse(body) as RpcMessage;
    const got = isRequest(message)
      ? await line.request(target, message, signal)
      : await line.post(target, message, signal);
    if (got === undefined) return answer(202, 'text/plain', '');
    if (got instanceof Inbox) return events(got);
    // The server has forgotten the session that its endpoint names.
    if (got.status === 404 || got.status === 410) line.close();
    return got;
  }

  /** Ends all connections. */
  close(): void {
    for (const line of [...this.#lines.values()]) line.close();
  }

  async #begin(
    target: LineTarget,
    message: RpcMessage & { readonly id: string | number; readonly method: string },
    signal: AbortLike,
  ): Promise<StreamedAnswer> {
    this.#makeRoom(target.owner);
    const id = randomUUID();
    const line = this.#deps.make(target, () => this.#ended(id));
    this.#lines.set(id, line);
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    try {
      const got = (await line.open(signal)) ?? (await line.request(target, message, signal));
      if (got instanceof Inbox) return events(got, id);
      // Its connection is closed by the reader of the refusal.
      this.#ended(id);
      return got;
    } catch (thrown) {
      line.close();
      throw thrown;
    }
  }

  #used(id: string, target: LineTarget): Line | undefined {
    const line = this.#lines.get(id);
    // An integration with another address has other sessions.
    if (line === undefined || line.address !== target.origin + target.path) return undefined;
    this.#lines.delete(id);
    this.#lines.set(id, line);
    return line;
  }

  #makeRoom(owner: string | undefined): void {
    const { most, mostOfOwner = most } = this.#deps;
    const own = owner === undefined ? [] : [...this.#lines.values()].filter((one) => one.owner === owner);
    if (own.length >= mostOfOwner) endIdle(own);
    if (this.#lines.size >= most) endIdle(this.#lines.values());
  }

  #ended(id: string): void {
    this.#lines.delete(id);
    if (this.#lines.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const now = Date.now();
    for (const line of [...this.#lines.values()])
      if (!line.isBusy && now - line.usedAt > IDLE_MS) line.close();
  }
}

/** Ends the one that was not used for the longest time. @throws GatewayError overloaded when all are in use */
function endIdle(lines: Iterable<Line>): void {
  const all = [...lines];
  const idle = all.find(({ isBusy }) => !isBusy) ?? all.find(({ hasRequests }) => !hasRequests);
  if (idle === undefined)
    throw fail('overloaded', 'too many sessions with MCP servers are open', { retryAfterMs: 1000 });
  idle.close();
}

function events(body: AsyncIterable<Uint8Array>, session?: string): StreamedAnswer {
  return { ...answer(200, 'text/event-stream', '', session), body };
}

function refused(status: number, message: string): StreamedAnswer {
  const error = { code: status === 404 ? RPC.noSession : RPC.invalidRequest, message };
  return answer(status, 'application/json', JSON.stringify({ jsonrpc: '2.0', id: null, error }));
}

function answer(status: number, type: string, text: string, session?: string): StreamedAnswer {
  const headers: Readonly<Record<string, string | undefined>> = { 'content-type': type, [SESSION]: session };
  return {
    status,
    rawHeaders: Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [name, value],
    ),
    header: (name) => headers[name],
    body: textBody(text),
  };
}

async function* textBody(text: string): AsyncGenerator<Uint8Array, void> {
  if (text !== '') yield Buffer.from(text);
}
