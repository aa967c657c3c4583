// Sessions at servers of older revisions for clients that have none: one for each server, caller and set of the client's
// capabilities, begun anew when the server has forgotten it, and ended when it was idle for long.
import { Aborter } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Asked, Relayed } from '../relay/asked.ts';
import { relayDelete, relayGet } from '../relay/relay.ts';
import { callerOf } from '../session-ids.ts';
import type { Target } from '../upstream/target.ts';
import { LEGACY_VERSIONS, META, metaOf } from '../wire/eras.ts';
import { isObject, type JsonObject, type RpcRequest, type RpcResponse } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import { type BridgeDeps, CLIENT_INFO, framesOf, sendAcross } from './bridge-deps.ts';
import { SessionStream } from './session-stream.ts';

export interface UpstreamSession {
  readonly key: string;
  /** Undefined: the server has none. */
  readonly id: string | undefined;
  readonly version: string;
  /** The result of `initialize`. */
  readonly said: JsonObject;
  logLevel: string | undefined;
  readonly stream: SessionStream;
  /** How many subscriptions watch a resource. */
  readonly watched: Map<string, number>;
  /** Which tools are called as tasks (`execution.taskSupport`), as the server listed them. */
  support: TaskSupport | undefined;
}

/** Sends a message of the older revision in a session. @throws GatewayError, McpError when no answer has begun */
export type SendInSession = (
  target: Target,
  asked: Asked,
  session: UpstreamSession,
  message: RpcRequest | RpcResponse,
) => Promise<Relayed>;

export interface TaskSupport {
  readonly at: number;
  readonly tools: Promise<ReadonlyMap<string, string>>;
}

interface Held {
  readonly session: Promise<UpstreamSession>;
  /** Once it has begun. */
  now: UpstreamSession | undefined;
  /** Of the newest request: with its credentials the gateway speaks for itself. */
  way: Way;
  usedAt: number;
  /** It has tasks that may not be over before. */
  keptUntil: number;
}

interface Way {
  readonly target: Target;
  readonly asked: Asked;
}

const IDLE_MS = 600_000;
const SWEEP_MS = 60_000;
/** How long the end of a session may take. */
const END_MS = 5000;
const MOST_SESSIONS = 5000;
/** How long a session is kept for a task whose server keeps it for ever. */
const TASK_MS = 3_600_000;
const MOST_TASK_MS = 86_400_000;
/** What a client may have that a server asks for. */
const CAPABILITIES = ['elicitation', 'sampling', 'roots'];

const NEW = { logLevel: undefined, support: undefined } as const;

/** A server that was taken for one of an older revision does not begin a session. */
export class HandshakeRefused extends McpError {
  constructor() {
    super(RPC.internal, 'the MCP server refused the handshake', { status: 502 });
    this.name = 'HandshakeRefused';
  }
}

export class UpstreamSessions {
  readonly #deps: BridgeDeps;
  /** In the order of their last use. */
  readonly #held = new Map<string, Held>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError, McpError when there can be none */
  of(target: Target, asked: Asked): Promise<UpstreamSession> {
    const capabilities = capabilitiesOf(asked);
    const { server, principal } = asked;
    const key = JSON.stringify([server.id, server.integration.version, callerOf(principal), capabilities]);
    // The session is the caller's next requests', too: it does not end with this one.
    const own = new Aborter();
    const way = { target, asked: { ...asked, signal: own } };
    const known = this.#held.get(key);
    if (known !== undefined) {
      known.usedAt = Date.now();
      known.way = way;
      this.#held.delete(key);
      this.#held.set(key, known);
      return known.session;
    }
    const session = this.#begin(way, key, capabilities);
    const held = this.#hold(key, session, way);
    const late = setTimeout(
      () => own.abort(fail('upstream_timeout', 'the MCP server did not begin a session in time')),
      this.#deps.bounds.silenceMs * 2,
    );
    session.catch(() => {}).finally(() => clearTimeout(late));
    session.then(
      (now) => {
        held.now = now;
      },
      () => this.#held.get(key) === held && this.#remove(key),
    );
    return session;
  }

  /** The caller's session with an id: one that another instance has begun, or this one before a restart, is taken up. */
  withId(target: Target, asked: Asked, id: string): Promise<UpstreamSession> {
    const { server, principal } = asked;
    const place = [server.id, server.integration.version, callerOf(principal)] as const;
    const way = { target, asked: { ...asked, signal: new Aborter() } };
    const prefix = JSON.stringify(place).slice(0, -1);
    for (const [key, held] of this.#held)
      if (held.now?.id === id && key.startsWith(prefix)) {
        held.usedAt = Date.now();
        held.way = way;
        return held.session;
      }
    const key = JSON.stringify([...place, { taken: id }]);
    const version = LEGACY_VERSIONS[0]!;
    const stream = this.#stream(way, key, id, version);
    const session: UpstreamSession = { ...NEW, key, id, version, said: {}, stream, watched: new Map() };
    const taken = Promise.resolve(session);
    this.#hold(key, taken, way).now = session;
    return taken;
  }

  /** Keeps a session that has a task. @param ttlMs of the task; null: it is kept for ever */
  keepFor({ key }: UpstreamSession, ttlMs: unknown): void {
    const held = this.#held.get(key);
    const ms = typeof ttlMs === 'number' ? Math.min(ttlMs, MOST_TASK_MS) : TASK_MS;
    if (held !== undefined) held.keptUntil = Math.max(held.keptUntil, Date.now() + ms);
  }

  #hold(key: string, session: Promise<UpstreamSession>, way: Way): Held {
    const held: Held = { session, now: undefined, way, usedAt: Date.now(), keptUntil: 0 };
    this.#held.set(key, held);
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    if (this.#held.size > MOST_SESSIONS) this.#dropOldest();
    return held;
  }

  /** The server does not know it any more. */
  forget(session: UpstreamSession): void {
    session.stream.close();
    // Another request may have begun a new one already.
    if (this.#held.get(session.key)?.now === session) this.#remove(session.key);
  }

  /** Ends all sessions; the servers are not told. */
  close(): void {
    for (const [key, { session }] of [...this.#held]) {
      this.#remove(key);
      void session.then(({ stream }) => stream.close()).catch(() => {});
    }
  }

  #remove(key: string): void {
    this.#held.delete(key);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #begin({ target, asked }: Way, key: string, capabilities: JsonObject): Promise<UpstreamSession> {
    const params = { protocolVersion: LEGACY_VERSIONS[0], capabilities, clientInfo: CLIENT_INFO };
    const message: RpcRequest = { jsonrpc: '2.0', id: 'initialize', method: 'initialize', params };
    const answer = await sendAcross(this.#deps, target, asked, { message, era: 'legacy', headers: {} });
    let said: JsonObject | undefined;
    for await (const { response } of framesOf(answer)) {
      if (response?.error !== undefined) throw new HandshakeRefused();
      said = response?.result;
    }
    const version = said?.protocolVersion;
    if (said === undefined || typeof version !== 'string')
      throw garbage('did not say which revision it speaks');
    const headers = { 'mcp-protocol-version': version };
    await sendAcross(this.#deps, target, asked, {
      message: { jsonrpc: '2.0', method: 'notifications/initialized' },
      era: 'legacy',
      session: answer.session,
      headers,
    });
    const stream = this.#stream({ target, asked }, key, answer.session, version);
    await stream.opened();
    return { ...NEW, key, id: answer.session, version, said, stream, watched: new Map() };
  }

  #stream(first: Way, key: string, session: string | undefined, version: string): SessionStream {
    const way = (): Way => this.#held.get(key)?.way ?? first;
    return new SessionStream({
      open: (signal) => {
        const { target, asked } = way();
        const accept = { accept: 'text/event-stream', 'mcp-protocol-version': version };
        const headers = new GatewayHeaders(asked.headers.names, accept);
        const { server, principal } = asked;
        return relayGet(this.#deps, target, { server, principal, headers, era: 'legacy', session, signal });
      },
      tell: async (message) => {
        const { target, asked } = way();
        const headers = { 'mcp-protocol-version': version };
        await sendAcross(this.#deps, target, asked, { message, era: 'legacy', session, headers });
      },
    });
  }

  #dropOldest(): void {
    for (const [key, held] of this.#held) return void this.#drop(key, held);
  }

  #sweep(): void {
    const now = Date.now();
    for (const [key, held] of [...this.#held])
      if (now - held.usedAt >= IDLE_MS && now >= held.keptUntil) void this.#dropIdle(key, held);
  }

  async #dropIdle(key: string, held: Held): Promise<void> {
    const session = await held.session.catch(() => undefined);
    if (session?.stream.isListenedTo) held.usedAt = Date.now();
    else await this.#drop(key, held);
  }

  /** Ends a session, and tells the server. */
  async #drop(key: string, held: Held): Promise<void> {
    this.#remove(key);
    const session = await held.session.catch(() => undefined);
    session?.stream.close();
    if (session?.id === undefined) return;
    const { target, asked } = held.way;
    const signal = new Aborter();
    const timer = setTimeout(() => signal.abort(fail('upstream_timeout', 'the end took too long')), END_MS);
    const headers = new GatewayHeaders(asked.headers.names, { 'mcp-protocol-version': session.version });
    const { server, principal } = asked;
    await relayDelete(this.#deps, target, {
      server,
      principal,
      headers,
      era: 'legacy',
      session: session.id,
      signal,
    }).catch(() => {});
    clearTimeout(timer);
  }
}

function capabilitiesOf({ message }: Asked): JsonObject {
  const all = 'method' in message ? metaOf(message)?.[META.clientCapabilities] : undefined;
  if (!isObject(all)) return {};
  return Object.fromEntries(CAPABILITIES.flatMap((one) => (isObject(all[one]) ? [[one, all[one]]] : [])));
}
