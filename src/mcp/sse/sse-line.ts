// One connection of the HTTP+SSE transport (revision 2024-11-05): all messages of the server come on one stream, whose
// first event names the address that messages of the client are posted to. Requests get ids of the connection's own, so
// that callers with the same ids do not meet.
import { Aborter, type AbortLike } from '../../lib/abort.ts';
import type { Dialer, StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { garbage, upstreamMessage } from '../relay/answer-check.ts';
import {
  isObject,
  isResponse,
  type JsonObject,
  type RequestId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from '../wire/json-rpc.ts';
import { RPC } from '../wire/mcp-error.ts';
import { type Frame, FrameReader } from '../wire/sse-frames.ts';
import { Inbox } from './inbox.ts';

/** Where the stream is, and the headers of one caller. */
export interface SseTarget {
  readonly origin: string;
  readonly path: string;
  /** Flat pairs. */
  readonly headers: readonly string[];
}

export interface SseDeps {
  readonly dialer: Pick<Dialer, 'stream'>;
  readonly bounds: { readonly silenceMs: number; readonly messageBytes: number };
}

/** A request that waits for its response. */
interface Pending {
  readonly inbox: Inbox;
  readonly id: RequestId;
  readonly token: unknown;
}

/** How long the stream of a connection may be silent: each request has a bound of its own. */
const QUIET_MS = 86_400_000;
/** Of the body of an answer to a POST, which says nothing. */
const MOST_IGNORED = 65_536;
const ENCODING = ['accept-encoding', 'identity', 'user-agent', 'sluice-gateway'];
/** Notices of the server as such, which belong to no request. */
const COMMON = /^notifications\/(?:(?:tools|prompts|resources)\/list_changed|resources\/updated)$/;

export class SseLine {
  /** Of the stream. */
  readonly address: string;
  readonly #deps: SseDeps;
  readonly #over: () => void;
  readonly #aborter = new Aborter();
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<Inbox>();
  readonly #endpoint = Promise.withResolvers<string>();
  /** Headers of the newest request: with them the gateway answers a ping, and cancels. */
  #target: SseTarget;
  #last = 0;
  #isOver = false;
  usedAt = Date.now();

  /** @param over called once, when the connection has ended */
  constructor(deps: SseDeps, target: SseTarget, over: () => void) {
    this.#deps = deps;
    this.#target = target;
    this.#over = over;
    this.address = target.origin + target.path;
    this.#endpoint.promise.catch(() => {});
  }

  get isBusy(): boolean {
    return this.#pending.size > 0 || this.#listeners.size > 0;
  }

  /**
   * Connects. @returns undefined, or the answer of a server that refuses
   * @throws GatewayError
   */
  async open(signal: AbortLike): Promise<StreamedAnswer | undefined> {
    const leave = (): void => this.close(signal.reason as GatewayError);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave);
    const { dialer, bounds } = this.#deps;
    let timer: NodeJS.Timeout | undefined;
    try {
      const { origin, path, headers } = this.#target;
      const answer = await dialer.stream({
        origin,
        path,
        method: 'GET',
        headers: [...headers, 'accept', 'text/event-stream', 'cache-control', 'no-cache', ...ENCODING],
        body: undefined,
        signal: this.#aborter,
        headTimeoutMs: bounds.silenceMs,
        idleTimeoutMs: QUIET_MS,
      });
      const type = answer.header('content-type') ?? '';
      if (answer.status !== 200) return answer;
      if (!/^text\/event-stream\b/i.test(type)) {
        await answer.body[Symbol.asyncIterator]().return?.();
        throw garbage('opened no stream of events');
      }
      void this.#read(answer.body);
      const late = fail('upstream_timeout', 'the MCP server did not name its endpoint in time');
      timer = setTimeout(() => this.close(late), bounds.silenceMs);
      await this.#endpoint.promise;
      return undefined;
    } catch (thrown) {
      this.close(thrown as GatewayError);
      throw thrown;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    }
  }

  /** @returns the server's refusal, or the messages up to the response @throws GatewayError */
  async request(target: SseTarget, request: RpcRequest, signal: AbortLike): Promise<StreamedAnswer | Inbox> {
    const number = ++this.#last;
    const { id, method, params } = request;
    const meta = isObject(params?._meta) ? params._meta : {};
    const token = meta.progressToken;
    const aborted = (): void => inbox.fail(signal.reason);
    const inbox = new Inbox(this.#deps.bounds.messageBytes, () => {
      signal.removeEventListener('abort', aborted);
      if (this.#pending.delete(number) && method !== 'initialize') this.#cancel(number);
    });
    signal.addEventListener('abort', aborted);
    this.#pending.set(number, { inbox, id, token });
    const own = token === undefined ? params : { ...params, _meta: { ...meta, progressToken: number } };
    const sent = {
      jsonrpc: '2.0',
      id: number,
      method,
      ...(own === undefined ? {} : { params: own }),
    } as const;
    try {
      const refusal = await this.post(target, sent, signal);
      if (refusal === undefined) return inbox;
      this.#settle(number);
      return refusal;
    } catch (thrown) {
      inbox.end();
      throw thrown;
    }
  }

  /** A notification, or an answer to the server. @returns the server's refusal @throws GatewayError */
  async post(target: SseTarget, message: RpcMessage, signal: AbortLike): Promise<StreamedAnswer | undefined> {
    this.usedAt = Date.now();
    this.#target = target;
    const path = await this.#endpoint.promise;
    const answer = await this.#deps.dialer.stream({
      origin: target.origin,
      path,
      method: 'POST',
      headers: [...target.headers, 'content-type', 'application/json', ...ENCODING],
      body: JSON.stringify(this.#withOwnId(message)),
      signal,
      headTimeoutMs: this.#deps.bounds.silenceMs,
      idleTimeoutMs: this.#deps.bounds.silenceMs,
    });
    if (answer.status >= 300) return answer;
    void ignored(answer);
    return undefined;
  }

  /** What the server sends that answers no request. */
  listen(signal: AbortLike): Inbox {
    const aborted = (): void => inbox.fail(signal.reason);
    const inbox = new Inbox(this.#deps.bounds.messageBytes, () => {
      signal.removeEventListener('abort', aborted);
      this.#listeners.delete(inbox);
      this.usedAt = Date.now();
    });
    signal.addEventListener('abort', aborted);
    this.#listeners.add(inbox);
    if (this.#isOver) inbox.end();
    return inbox;
  }

  /** @param why what requests under way get; undefined: the connection is not needed any more */
  close(why: GatewayError = interrupted()): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#endpoint.reject(why);
    this.#aborter.abort(why);
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const { inbox } of waiting) inbox.fail(why);
    for (const inbox of [...this.#listeners]) inbox.end();
    this.#over();
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    const reader = new FrameReader(this.#deps.bounds.messageBytes);
    try {
      for await (const piece of body) for (const frame of reader.push(piece)) await this.#take(frame);
      this.close();
    } catch (thrown) {
      this.close(thrown as GatewayError);
    }
  }

  async #take({ event = 'message', data = '' }: Frame): Promise<void> {
    if (event === 'endpoint') this.#endpoint.resolve(this.#pathOf(data));
    if (event !== 'message' || data === '') return;
    const message = await upstreamMessage(data);
    if (isResponse(message)) this.#answered(message);
    else if ('id' in message) this.#asked(message);
    else this.#noticed(message);
  }

  #answered(message: RpcResponse): void {
    const only = message.id === null && this.#pending.size === 1 ? [...this.#pending.keys()][0] : undefined;
    const number = only ?? message.id;
    const isSent = Number.isInteger(number) && Number(number) >= 1 && Number(number) <= this.#last;
    if (!isSent) throw garbage('answered with the id of another request');
    // A second answer, or one after the client has left, is not read.
    const pending = this.#pending.get(Number(number));
    pending?.inbox.push(JSON.stringify({ ...message, id: pending.id }));
    this.#settle(Number(number));
  }

  #settle(number: number): void {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    pending?.inbox.end();
    this.usedAt = Date.now();
  }

  #asked(message: RpcRequest): void {
    const reader = message.method === 'ping' ? undefined : this.#reader();
    if (reader !== undefined) {
      reader.push(JSON.stringify(message));
      return;
    }
    const { id, method } = message;
    const error = { code: RPC.methodNotFound, message: 'no client waits for an answer' };
    this.#tell({ jsonrpc: '2.0', id, ...(method === 'ping' ? { result: {} } : { error }) });
  }

  #noticed(message: RpcNotification): void {
    const { method, params } = message;
    if (method === 'notifications/progress') {
      const pending = this.#pending.get(Number(params?.progressToken));
      const own: JsonObject = { ...params, progressToken: pending?.token };
      if (pending?.token !== undefined) pending.inbox.push(JSON.stringify({ ...message, params: own }));
    } else if (COMMON.test(method)) {
      for (const inbox of this.#listeners) inbox.push(JSON.stringify(message));
    } else this.#reader()?.push(JSON.stringify(message));
  }

  /** The transport does not say which request a message belongs to: it is taken for the newest one's. */
  #reader(): Inbox | undefined {
    return [...this.#pending.values()].at(-1)?.inbox ?? [...this.#listeners][0];
  }

  #withOwnId(message: RpcMessage): RpcMessage {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return message;
    const { requestId } = message.params ?? {};
    const own = [...this.#pending].findLast(([, { id }]) => id === requestId)?.[0];
    return own === undefined ? message : { ...message, params: { ...message.params, requestId: own } };
  }

  #cancel(requestId: number): void {
    if (this.#isOver) return;
    this.usedAt = Date.now();
    this.#tell({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  }

  /** What need not arrive. */
  #tell(message: RpcMessage): void {
    this.post(this.#target, message, this.#aborter).then(
      (refusal) => refusal && ignored(refusal),
      () => {},
    );
  }

  /** @throws GatewayError for an endpoint at another origin, which would get this one's credentials */
  #pathOf(data: string): string {
    const url = URL.canParse(data, this.address) ? new URL(data, this.address) : undefined;
    if (url === undefined || url.origin !== new URL(this.address).origin)
      throw garbage('named an endpoint of another origin');
    return url.pathname + url.search;
  }
}

function interrupted(): GatewayError {
  return fail('upstream_interrupted', 'the MCP server ended its stream');
}

/** Reads a body to its end, so that the connection can be used again. */
async function ignored({ body }: StreamedAnswer): Promise<void> {
  let bytes = 0;
  try {
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > MOST_IGNORED) return;
    }
  } catch {}
}
