// What a server of an older revision sends on the stream of a session that the gateway holds: notices for those who
// subscribed, and what belongs to the requests that are under way. The stream is opened once for each session.
import { Aborter } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import type { Relayed } from '../relay/asked.ts';
import { relatedTaskOf } from '../tasks/task-shapes.ts';
import {
  isRequest,
  isResponse,
  type JsonObject,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from '../wire/json-rpc.ts';
import { RPC } from '../wire/mcp-error.ts';
import { framesOf } from './bridge-deps.ts';

/** A request under way. */
export interface Attending {
  /** Undefined: it wants no progress. */
  readonly progressToken: unknown;
  /** It waits for what is asked for a task, by the id that the caller has, and for nothing else. */
  readonly task?: string;
  /** @param message asks the client, or tells it something */
  readonly take: (message: RpcRequest | RpcNotification) => void;
}

export interface SessionStreamDeps {
  /** Opens the stream with the headers of the newest request. */
  readonly open: (signal: Aborter) => Promise<Relayed>;
  /** Answers the server. */
  readonly tell: (answer: RpcResponse) => Promise<void>;
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
/** How long the first request of a session waits for the stream. */
const OPENING_MS = 500;
const MOST_EARLY = 100;
/** Notices of the server as such, which belong to no request. */
const COMMON = /^notifications\/(?:(?:tools|prompts|resources)\/list_changed|resources\/updated)$/;

export class SessionStream {
  readonly #deps: SessionStreamDeps;
  readonly #aborter = new Aborter();
  readonly #attending = new Set<Attending>();
  /** What was asked for tasks that nothing attends to yet. */
  readonly #early: RpcRequest[] = [];
  readonly #listeners = new Set<(notice: RpcNotification) => void>();
  #timer: NodeJS.Timeout | undefined;
  #waitMs = FIRST_WAIT_MS;
  #isOver = false;
  readonly #began = Promise.withResolvers<void>();

  constructor(deps: SessionStreamDeps) {
    this.#deps = deps;
    void this.#read();
  }

  /** Resolves when the stream is open, when there is none, or soon: what is sent before it is open may be lost. */
  async opened(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, OPENING_MS);
    });
    await Promise.race([this.#began.promise, late]);
    clearTimeout(timer);
  }

  get isListenedTo(): boolean {
    return this.#listeners.size > 0;
  }

  /** From now until the end, which is what is returned. */
  attend(one: Attending): () => void {
    this.#attending.add(one);
    for (const request of one.task === undefined ? [] : [...this.#early])
      if (relatedTaskOf(request.params) === one.task) {
        this.#early.splice(this.#early.indexOf(request), 1);
        one.take(request);
      }
    return () => this.#attending.delete(one);
  }

  listen(take: (notice: RpcNotification) => void): () => void {
    this.#listeners.add(take);
    return () => this.#listeners.delete(take);
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#aborter.abort(fail('client_closed', 'the session is not needed any more'));
  }

  async #read(): Promise<void> {
    let isThere = true;
    try {
      const answer = await this.#deps.open(this.#aborter);
      this.#began.resolve();
      isThere = answer.status === 200 || answer.status >= 500;
      for await (const { data = '' } of framesOf(answer)) {
        if (data === '') continue;
        this.#waitMs = FIRST_WAIT_MS;
        this.#take(JSON.parse(data) as RpcMessage);
      }
    } catch {}
    this.#began.resolve();
    // A server without such a stream says so by its status.
    if (this.#isOver || !isThere) return;
    this.#timer = setTimeout(() => void this.#read(), this.#waitMs).unref();
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
  }

  #take(message: RpcMessage): void {
    if (isResponse(message)) return;
    if (isRequest(message)) this.#asked(message);
    else if (message.method === 'notifications/tasks/status') return;
    else if (COMMON.test(message.method)) for (const take of this.#listeners) take(message);
    else if (message.method === 'notifications/progress') this.#progressed(message, message.params);
    else this.#newest()?.take(message);
  }

  #asked(request: RpcRequest): void {
    const { id, method } = request;
    const task = relatedTaskOf(request.params);
    if (task !== undefined && method !== 'ping') {
      const one = [...this.#attending].find((attending) => attending.task === task);
      if (one !== undefined) one.take(request);
      else if (this.#early.length < MOST_EARLY) this.#early.push(request);
      if (one !== undefined || this.#early.includes(request)) return;
    }
    const newest = method === 'ping' ? undefined : this.#newest();
    if (newest !== undefined) {
      newest.take(request);
      return;
    }
    const error = { code: RPC.methodNotFound, message: 'no client waits for an answer' };
    const answer = { jsonrpc: '2.0', id, ...(method === 'ping' ? { result: {} } : { error }) } as const;
    this.#deps.tell(answer).catch(() => {});
  }

  #progressed(notice: RpcNotification, params: JsonObject | undefined): void {
    const token = params?.progressToken;
    if (token === undefined) return;
    [...this.#attending].find((one) => one.progressToken === token)?.take(notice);
  }

  /** The stream does not say which request a message belongs to: it is taken for the newest one's. */
  #newest(): Attending | undefined {
    return [...this.#attending].findLast(({ task }) => task === undefined);
  }
}
