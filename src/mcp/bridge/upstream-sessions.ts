// Sessions at servers of older revisions for clients that have none: one for each server, caller and set of the client's
// capabilities, begun anew when the server has forgotten it, and ended when it was idle for long.
import { Aborter } from '../../lib/abort.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Asked } from '../relay/asked.ts';
import { callerOf } from '../session-ids.ts';
import type { Target } from '../upstream/target.ts';
import { LEGACY_VERSIONS, META, metaOf } from '../wire/eras.ts';
import { isObject, type JsonObject, type RpcRequest } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import { type BridgeDeps, CLIENT_INFO, framesOf, sendAcross } from './bridge-deps.ts';

export interface UpstreamSession {
  readonly key: string;
  /** Undefined: the server has none. */
  readonly id: string | undefined;
  readonly version: string;
  /** The result of `initialize`. */
  readonly said: JsonObject;
  logLevel: string | undefined;
}

interface Held {
  readonly session: Promise<UpstreamSession>;
  usedAt: number;
}

const IDLE_MS = 600_000;
const MOST_SESSIONS = 5000;
/** What a client may have that a server asks for. */
const CAPABILITIES = ['elicitation', 'sampling', 'roots'];

export class UpstreamSessions {
  readonly #deps: BridgeDeps;
  readonly #held = new Map<string, Held>();

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError, McpError when there can be none */
  of(target: Target, asked: Asked): Promise<UpstreamSession> {
    this.#sweep();
    const capabilities = capabilitiesOf(asked);
    const { server, principal } = asked;
    const key = JSON.stringify([server.id, server.integration.version, callerOf(principal), capabilities]);
    const known = this.#held.get(key);
    if (known !== undefined) {
      known.usedAt = Date.now();
      return known.session;
    }
    // The session is the caller's next requests', too: it does not end with this one.
    const session = this.#begin(target, { ...asked, signal: new Aborter() }, key, capabilities);
    this.#held.set(key, { session, usedAt: Date.now() });
    session.catch(() => this.#held.delete(key));
    return session;
  }

  /** The server does not know it any more. */
  forget({ key }: UpstreamSession): void {
    this.#held.delete(key);
  }

  async #begin(
    target: Target,
    asked: Asked,
    key: string,
    capabilities: JsonObject,
  ): Promise<UpstreamSession> {
    const params = { protocolVersion: LEGACY_VERSIONS[0], capabilities, clientInfo: CLIENT_INFO };
    const message: RpcRequest = { jsonrpc: '2.0', id: 'initialize', method: 'initialize', params };
    const answer = await sendAcross(this.#deps, target, asked, { message, era: 'legacy', headers: {} });
    let said: JsonObject | undefined;
    for await (const { response } of framesOf(answer)) {
      if (response?.error !== undefined)
        throw new McpError(RPC.internal, 'the MCP server refused the handshake', { status: 502 });
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
    return { key, id: answer.session, version, said, logLevel: undefined };
  }

  #sweep(): void {
    if (this.#held.size === 0) return;
    const now = Date.now();
    for (const [key, { usedAt }] of this.#held) {
      // In the order of their beginning: most that are idle come first.
      if (now - usedAt < IDLE_MS && this.#held.size <= MOST_SESSIONS) break;
      this.#held.delete(key);
    }
  }
}

function capabilitiesOf({ message }: Asked): JsonObject {
  const all = 'method' in message ? metaOf(message)?.[META.clientCapabilities] : undefined;
  if (!isObject(all)) return {};
  return Object.fromEntries(CAPABILITIES.flatMap((one) => (isObject(all[one]) ? [[one, all[one]]] : [])));
}
