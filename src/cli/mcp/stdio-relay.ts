// MCP over standard input and output for a local client, relayed to a gateway's streamable HTTP, in both generations. A
// session that the gateway or its server has forgotten is begun anew with the client's own handshake.
import { modernHeaders } from '../../mcp/bridge/bridge-deps.ts';
import { META, metaOf } from '../../mcp/wire/eras.ts';
import {
  isObject,
  isRequest,
  isResponse,
  type JsonObject,
  type RequestId,
  type RpcMessage,
  type RpcRequest,
  readMessage,
} from '../../mcp/wire/json-rpc.ts';
import { McpError, RPC } from '../../mcp/wire/mcp-error.ts';
import type { GatewayLink, LinkAnswer } from './gateway-link.ts';

export interface RelayDeps {
  readonly link: Pick<GatewayLink, 'send'>;
  /** A message to the client, on one line. */
  readonly write: (text: string) => void;
  /** What people should know. */
  readonly note: (line: string) => void;
}

interface Running {
  readonly aborter: AbortController;
  readonly isModern: boolean;
  /** It ends when the client ends it. */
  readonly isStanding: boolean;
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
const MOST_SCHEMAS = 10_000;
/** How long an end waits for the session's. */
const END_MS = 1500;
const RENEWAL = 'sluice-renewal';

export class StdioRelay {
  readonly #deps: RelayDeps;
  readonly #running = new Map<RequestId, Running>();
  readonly #schemas = new Map<string, unknown>();
  #isOver = false;
  /** Ends once what must come before the next message has been sent. */
  #before: Promise<void> = Promise.resolve();
  #hello: RpcRequest | undefined;
  #version: string | undefined;
  #session: string | undefined;
  #listening: AbortController | undefined;
  #renewing: Promise<void> | undefined;

  constructor(deps: RelayDeps) {
    this.#deps = deps;
  }

  /** How many requests wait for their responses. */
  get waiting(): number {
    return [...this.#running.values()].filter(({ isStanding }) => !isStanding).length;
  }

  /** One line of the client. */
  take(line: string): void {
    if (this.#isOver || line.trim() === '') return;
    let message: RpcMessage;
    try {
      message = readMessage(parsed(line));
    } catch (thrown) {
      this.#deps.write((thrown as McpError).text());
      return;
    }
    if (isRequest(message)) {
      const request = message;
      const { aborter } = this.#begin(request);
      const { promise, resolve } = Promise.withResolvers<void>();
      void this.#before.then(() => this.#request(request, aborter.signal, resolve));
      // What a client has written before it knew its session belongs to it all the same.
      if (request.method === 'initialize') this.#before = promise;
      return;
    }
    if ('method' in message && message.method === 'notifications/cancelled') this.#cancelled(message.params);
    if ('method' in message) this.#before = this.#before.then(() => this.#tell(message));
    else void this.#tell(message);
  }

  /** Ends all requests and the session. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listening?.abort();
    for (const { aborter } of this.#running.values()) aborter.abort();
    if (this.#session === undefined) return;
    const signal = AbortSignal.timeout(END_MS);
    await this.#send('DELETE', this.#sessionHeaders(), undefined, signal).catch(() => {});
  }

  #begin(request: RpcRequest): Running {
    const isStanding = request.method === 'subscriptions/listen';
    const running = { aborter: new AbortController(), isModern: isModern(request), isStanding };
    this.#running.set(request.id, running);
    return running;
  }

  /** @param over called when the request is answered, or will not be */
  async #request(request: RpcRequest, signal: AbortSignal, over: () => void): Promise<void> {
    const { id, method } = request;
    try {
      if (method === 'initialize') this.#hello = request;
      let isAnswered = false;
      for await (const text of this.#exchange(request, signal, true)) {
        // The connection is used again when its answer is read to the end.
        if (isAnswered || !this.#passOn(text, request)) continue;
        isAnswered = true;
        this.#running.delete(id);
        over();
      }
      if (!isAnswered) throw new Error('the gateway ended its answer without a response');
    } catch (thrown) {
      if (signal.aborted || !this.#running.has(id)) return;
      this.#fail(id, `the request could not be relayed: ${wordsOf(thrown)}`);
    } finally {
      this.#running.delete(id);
      over();
    }
  }

  async *#exchange(
    request: RpcRequest,
    signal: AbortSignal,
    mayRenew: boolean,
  ): AsyncGenerator<string, void> {
    const session = this.#session;
    const answer = await this.#send('POST', this.#headersOf(request), request, signal);
    const isFirst = request.method === 'initialize';
    if (answer.status === 404 && session !== undefined && mayRenew && !isFirst && !isModern(request)) {
      await ended(answer);
      await this.#renewed(session);
      yield* this.#exchange(request, signal, false);
      return;
    }
    if (isFirst) this.#session = answer.session;
    let isAny = false;
    for await (const text of answer.messages) {
      isAny = true;
      yield text;
    }
    if (!isAny) throw new Error(`the gateway answered with the status ${answer.status}`);
  }

  /** @returns whether it was the response */
  #passOn(text: string, request: RpcRequest): boolean {
    const message = JSON.parse(text) as RpcMessage;
    if (!isResponse(message)) {
      this.#deps.write(oneLine(text));
      return false;
    }
    const { result } = message;
    if (request.method === 'initialize' && typeof result?.protocolVersion === 'string')
      this.#version = result.protocolVersion;
    if (request.method === 'tools/list') this.#learn(result);
    // What is refused before the message is read has no id.
    if (message.id === null && message.error !== undefined) {
      this.#deps.note(message.error.message);
      this.#deps.write(JSON.stringify({ ...message, id: request.id }));
    } else this.#deps.write(oneLine(text));
    return true;
  }

  /** Headers of the newer revision repeat what schemas name. */
  #learn(result: JsonObject | undefined): void {
    for (const tool of Array.isArray(result?.tools) ? (result.tools as unknown[]) : []) {
      if (!isObject(tool) || typeof tool.name !== 'string') continue;
      if (this.#schemas.size < MOST_SCHEMAS) this.#schemas.set(tool.name, tool.inputSchema);
    }
  }

  /** A notification, or an answer to the server. */
  async #tell(message: RpcMessage): Promise<void> {
    if (this.#isOver) return;
    try {
      const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
      const answer = await this.#send('POST', this.#headersOf(message), message, signal);
      await ended(answer);
      if (answer.status >= 400) this.#deps.note(`the gateway answered a message with ${answer.status}`);
    } catch (thrown) {
      this.#deps.note(`a message could not be relayed: ${wordsOf(thrown)}`);
    }
    if ('method' in message && message.method === 'notifications/initialized') this.#listen();
  }

  #cancelled(params: JsonObject | undefined): void {
    const running = this.#running.get(params?.requestId as RequestId);
    // In the newer revision the end of the stream is the cancellation.
    if (running?.isModern) running.aborter.abort();
  }

  /** The stream of what the server sends by itself, for as long as the session lasts. */
  #listen(): void {
    this.#listening?.abort();
    const aborter = new AbortController();
    this.#listening = aborter;
    void this.#heard(aborter.signal).catch(() => {});
  }

  async #heard(signal: AbortSignal): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    while (!signal.aborted) {
      try {
        const headers = { ...this.#sessionHeaders(), accept: 'text/event-stream' };
        const answer = await this.#send('GET', headers, undefined, signal);
        if (answer.status !== 200 || !answer.isEvents) {
          await ended(answer);
          if (answer.status < 500) return;
        }
        for await (const text of answer.messages) {
          waitMs = FIRST_WAIT_MS;
          this.#deps.write(oneLine(text));
        }
      } catch {}
      await pause(waitMs, signal);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
  }

  /** Begins a session in the place of one that is forgotten; several requests may find it out at once. */
  #renewed(session: string): Promise<void> {
    if (this.#session !== session) return Promise.resolve();
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<void> {
    if (this.#hello === undefined) throw new Error('there is no session');
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
    const hello = { ...this.#hello, id: RENEWAL };
    this.#session = undefined;
    const answer = await this.#send('POST', this.#headersOf(hello), hello, signal);
    let isAnswered = false;
    for await (const text of answer.messages) {
      const message = JSON.parse(text) as RpcMessage;
      if (isResponse(message) && message.result !== undefined) isAnswered = true;
    }
    if (!isAnswered) throw new Error(`the gateway did not begin a new session (${answer.status})`);
    this.#session = answer.session;
    await this.#tell({ jsonrpc: '2.0', method: 'notifications/initialized' });
    this.#deps.note('the session was begun anew');
  }

  #fail(id: RequestId, message: string): void {
    this.#deps.note(message);
    this.#deps.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: RPC.internal, message } }));
  }

  #send(
    verb: 'POST' | 'GET' | 'DELETE',
    headers: Readonly<Record<string, string>>,
    message: RpcMessage | undefined,
    signal: AbortSignal,
  ): Promise<LinkAnswer> {
    const body = message === undefined ? {} : { body: JSON.stringify(message) };
    return this.#deps.link.send({ verb, headers, signal, ...body });
  }

  #headersOf(message: RpcMessage): Record<string, string> {
    const common = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    if (!('method' in message) || !isModern(message)) return { ...common, ...this.#sessionHeaders() };
    const { method, params = {} } = message;
    const version = String(metaOf(message)?.[META.version]);
    const schema = method === 'tools/call' ? this.#schemas.get(String(params.name)) : undefined;
    return { ...common, ...modernHeaders(method, params, schema), 'mcp-protocol-version': version };
  }

  #sessionHeaders(): Record<string, string> {
    return {
      ...(this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version }),
      ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }),
    };
  }
}

function isModern(message: RpcMessage): boolean {
  return 'method' in message && typeof metaOf(message)?.[META.version] === 'string';
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new McpError(RPC.parse, 'Parse error: each line must be one message as JSON');
  }
}

function oneLine(text: string): string {
  return /[\r\n]/.test(text) ? JSON.stringify(JSON.parse(text)) : text;
}

async function ended({ messages }: LinkAnswer): Promise<void> {
  for await (const _ of messages);
}

function wordsOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms).unref();
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}
