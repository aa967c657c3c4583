// Many requests on one line: each gets an id of the line's own, so that callers with the same ids do not meet, and its
// messages go to a stream of its own.
import type { AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { garbage } from '../relay/answer-check.ts';
import { META } from '../wire/eras.ts';
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
import { Inbox } from './inbox.ts';

/** A request that waits for its response. */
interface Pending {
  readonly inbox: Inbox;
  readonly id: RequestId;
  readonly token: unknown;
  /** It is a subscription of 2026-07-28, whose stream of notices has no end. */
  readonly isSubscription: boolean;
}

export interface MultiplexerDeps {
  /** Bytes of messages that wait for one reader. */
  readonly messageBytes: number;
  /** Sends what need not arrive. */
  readonly tell: (message: RpcMessage) => void;
}

/** Notices of the server as such, which belong to no request. */
const COMMON = /^notifications\/(?:(?:tools|prompts|resources)\/list_changed|resources\/updated)$/;

export class Multiplexer {
  readonly #deps: MultiplexerDeps;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<Inbox>();
  #last = 0;
  #isOver = false;
  /** Unix milliseconds. */
  usedAt = Date.now();

  constructor(deps: MultiplexerDeps) {
    this.#deps = deps;
  }

  get hasRequests(): boolean {
    for (const { isSubscription } of this.#pending.values()) if (!isSubscription) return true;
    return false;
  }

  get isBusy(): boolean {
    return this.#pending.size > 0 || this.#listeners.size > 0;
  }

  /**
   * @param send sends the request under its own id; it may answer with the server's refusal
   * @returns the refusal, or the messages up to the response
   * @throws what `send` throws
   */
  async request(
    request: RpcRequest,
    signal: AbortLike,
    send: (own: RpcRequest) => Promise<StreamedAnswer | undefined>,
  ): Promise<StreamedAnswer | Inbox> {
    const number = ++this.#last;
    const { id, method, params } = request;
    const meta = isObject(params?._meta) ? params._meta : {};
    const token = meta.progressToken;
    const aborted = (): void => inbox.fail(signal.reason);
    const inbox = new Inbox(this.#deps.messageBytes, () => {
      signal.removeEventListener('abort', aborted);
      if (this.#pending.delete(number) && method !== 'initialize') this.#cancel(number);
    });
    signal.addEventListener('abort', aborted);
    const isSubscription = method === 'subscriptions/listen';
    this.#pending.set(number, { inbox, id, token, isSubscription });
    const own = token === undefined ? params : { ...params, _meta: { ...meta, progressToken: number } };
    try {
      const refusal = await send({
        jsonrpc: '2.0',
        id: number,
        method,
        ...(own === undefined ? {} : { params: own }),
      });
      if (refusal === undefined) return inbox;
      this.#settle(number);
      return refusal;
    } catch (thrown) {
      inbox.end();
      throw thrown;
    }
  }

  /** What the server sends that answers no request. */
  listen(signal: AbortLike): Inbox {
    const aborted = (): void => inbox.fail(signal.reason);
    const inbox = new Inbox(this.#deps.messageBytes, () => {
      signal.removeEventListener('abort', aborted);
      this.#listeners.delete(inbox);
      this.usedAt = Date.now();
    });
    signal.addEventListener('abort', aborted);
    this.#listeners.add(inbox);
    if (this.#isOver) inbox.end();
    return inbox;
  }

  /** A message of the server. @throws GatewayError upstream_garbage for an answer to what was not asked */
  take(message: RpcMessage): void {
    if (isResponse(message)) this.#answered(message);
    else if ('id' in message) this.#asked(message);
    else this.#noticed(message);
  }

  /** A message of the caller, with the line's own id where it cancels a request. */
  withOwnId(message: RpcMessage): RpcMessage {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return message;
    const { requestId } = message.params ?? {};
    const own = [...this.#pending].findLast(([, { id }]) => id === requestId)?.[0];
    return own === undefined ? message : { ...message, params: { ...message.params, requestId: own } };
  }

  /** The line is over. @param why what requests under way get */
  close(why: GatewayError): void {
    this.#isOver = true;
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const { inbox } of waiting) inbox.fail(why);
    for (const inbox of [...this.#listeners]) inbox.end();
  }

  #answered(message: RpcResponse): void {
    const only = message.id === null && this.#pending.size === 1 ? [...this.#pending.keys()][0] : undefined;
    const number = only ?? message.id;
    const isSent = Number.isInteger(number) && Number(number) >= 1 && Number(number) <= this.#last;
    if (!isSent) throw garbage('answered with the id of another request');
    // A second answer, or one after the client has left, is not read.
    const pending = this.#pending.get(Number(number));
    if (pending !== undefined) {
      const result =
        pending.isSubscription && message.result ? stamped(message.result, pending.id) : undefined;
      pending.inbox.push(JSON.stringify({ ...message, id: pending.id, ...(result && { result }) }));
    }
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
    this.#deps.tell({ jsonrpc: '2.0', id, ...(method === 'ping' ? { result: {} } : { error }) });
  }

  #noticed(message: RpcNotification): void {
    const { method, params } = message;
    const subscription = isObject(params?._meta) ? params._meta[META.subscription] : undefined;
    if (subscription !== undefined) {
      const pending = this.#pending.get(Number(subscription));
      if (pending?.isSubscription)
        pending.inbox.push(JSON.stringify({ ...message, params: stamped(params ?? {}, pending.id) }));
    } else if (method === 'notifications/progress') {
      const pending = this.#pending.get(Number(params?.progressToken));
      const own: JsonObject = { ...params, progressToken: pending?.token };
      if (pending?.token !== undefined) pending.inbox.push(JSON.stringify({ ...message, params: own }));
    } else if (COMMON.test(method)) {
      for (const inbox of this.#listeners) inbox.push(JSON.stringify(message));
    } else this.#reader()?.push(JSON.stringify(message));
  }

  /** Such a line does not say which request a message belongs to: it is taken for the newest one's. */
  #reader(): Inbox | undefined {
    const newest = [...this.#pending.values()].findLast(({ isSubscription }) => !isSubscription);
    return newest?.inbox ?? [...this.#listeners][0];
  }

  #cancel(requestId: number): void {
    if (this.#isOver) return;
    this.usedAt = Date.now();
    this.#deps.tell({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  }
}

/** With the client's own id of its subscription. */
function stamped(members: JsonObject, id: RequestId): JsonObject {
  const meta = isObject(members._meta) ? members._meta : {};
  return { ...members, _meta: { ...meta, [META.subscription]: id } };
}

/** The server has ended the line by itself. */
export function lineEnded(): GatewayError {
  return fail('upstream_interrupted', 'the MCP server ended its stream');
}
