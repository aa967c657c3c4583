// Servers of one line, answered for as if they spoke streamable HTTP: a session is one line of this process, and each
// request's messages are a stream of their own. Programs speak 2026-07-28, too, which has no sessions: their requests share
// one line of their caller's.
import { randomUUID } from 'node:crypto';
import type { AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import { isModernVersion } from '../wire/eras.ts';
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
  /** Whether servers are asked without a session, in revision 2026-07-28. */
  readonly hasModern?: boolean;
}

const IDLE_MS = 600_000;
const SWEEP_MS = 60_000;
const SESSION = 'mcp-session-id';
const VERSION = 'mcp-protocol-version';

export class Lines {
  readonly #deps: LinesDeps;
  /** By session, in the order of their last use. */
  readonly #lines = new Map<string, Line>();
  /** Ids of lines without a session, by the caller and the server's address. */
  readonly #shared = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: LinesDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError what the dialer throws, upstream_garbage, overloaded */
  async exchange(target: LineTarget, request: LineRequest): Promise<StreamedAnswer> {
    const { method, headers, body = '', signal } = request;
    const id = headers[headers.indexOf(SESSION) + 1];
    if (!headers.includes(SESSION) || id === undefined) return this.#withoutSession(target, request);
    const line = this.#used(id, target);
    if (line === undefined) return refused(404, 'Session not found');
    if (method === 'GET') return events(line.listen(signal));
    if (method === 'DELETE') {
      line.close();
      return answer(200, 'text/plain', '');
    }
    const got = await sent(line, target, JSON.parse(body) as RpcMessage, signal);
    // The server has forgotten the session that its endpoint names.
    if (got.status === 404 || got.status === 410) line.close();
    return got;
  }

  async #withoutSession(target: LineTarget, request: LineRequest): Promise<StreamedAnswer> {
    const { method, headers, body = '', signal } = request;
    const isModern = this.#deps.hasModern && isModernVersion(headers[headers.indexOf(VERSION) + 1] ?? '');
    if (method === 'DELETE' && this.#deps.hasModern) {
      this.#sharedOf(target)?.line.close();
      return answer(200, 'text/plain', '');
    }
    const message = method === 'POST' ? (JSON.parse(body) as RpcMessage) : undefined;
    if (message !== undefined && isRequest(message) && message.method === 'initialize')
      return this.#begin(target, message, signal);
    if (!isModern || message === undefined) return refused(400, 'Bad Request: initialize first');
    return sent(await this.#sharedLine(target, signal), target, message, signal);
  }

  /** The line of a caller's requests without a session. */
  async #sharedLine(target: LineTarget, signal: AbortLike): Promise<Line> {
    const known = this.#sharedOf(target);
    if (known !== undefined) return this.#used(known.id, target) ?? known.line;
    const id = randomUUID();
    const line = this.#made(id, target);
    this.#shared.set(sharedKey(target), id);
    try {
      await line.open(signal);
      return line;
    } catch (thrown) {
      line.close();
      throw thrown;
    }
  }

  #sharedOf(target: LineTarget): { readonly id: string; readonly line: Line } | undefined {
    const id = this.#shared.get(sharedKey(target)) ?? '';
    const line = this.#lines.get(id);
    return line === undefined ? undefined : { id, line };
  }

  /** A line that a server of an older revision was asked on, and which has no session yet. */
  #spare(target: LineTarget): string | undefined {
    const shared = this.#sharedOf(target);
    if (shared === undefined || shared.line.isModern) return undefined;
    this.#shared.delete(sharedKey(target));
    return shared.id;
  }

  #made(id: string, target: LineTarget): Line {
    this.#makeRoom(target.owner);
    const line = this.#deps.make(target, () => this.#ended(id));
    this.#lines.set(id, line);
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    return line;
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
    const spare = this.#spare(target);
    const id = spare ?? randomUUID();
    const line = (spare && this.#used(spare, target)) || this.#made(id, target);
    try {
      const refusal = spare === undefined ? await line.open(signal) : undefined;
      const got = refusal ?? (await line.request(target, message, signal));
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
    for (const [key, shared] of this.#shared) if (shared === id) this.#shared.delete(key);
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

/** Sends a message on a line. */
async function sent(
  line: Line,
  target: LineTarget,
  message: RpcMessage,
  signal: AbortLike,
): Promise<StreamedAnswer> {
  const got = isRequest(message)
    ? await line.request(target, message, signal)
    : await line.post(target, message, signal);
  if (got === undefined) return answer(202, 'text/plain', '');
  return got instanceof Inbox ? events(got) : got;
}

function sharedKey({ owner = '', origin, path }: LineTarget): string {
  return JSON.stringify([owner, origin, path]);
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
