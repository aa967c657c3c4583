// The round trip of a client of 2026-07-28 that is asked to open the link of a connection: what it brings back says which
// call it was for, and holds at every instance. Its next request waits a while for the connection.
import type { McpReplica } from '../../access/mcp/mcp-replica.ts';
import type { Principal } from '../../call/principal.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { SealedText } from '../../lib/sealed-text.ts';
import { opensAddresses } from '../bridge/url-questions.ts';
import { callerOf } from '../session-ids.ts';
import { isObject, isRequest, type JsonObject, type RpcMessage, type RpcRequest } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import { CONNECT_KEY, type ConnectionNeeded, connectionAsked } from './connection-needed.ts';

/** What the client brings back. */
interface State {
  /** The endpoint, the caller and what was asked. */
  readonly of: string;
  /** Slug of the server that the user connects to, and the link. */
  readonly server: string;
  readonly link: string;
  /** The connection as it was; empty: there was none. */
  readonly mark: string;
  /** Unix milliseconds. */
  readonly until: number;
  /** What the request itself had brought back for the server. */
  readonly own: JsonObject;
}

export interface ConnectionQuestionsDeps {
  readonly replica: Pick<McpReplica, 'serverBySlug' | 'connectionOf' | 'onChanged'>;
  /** 32 bytes, the same for all instances. */
  readonly secret: Uint8Array;
}

/** Requests whose result may ask (2026-07-28, Multi Round-Trip Requests). */
const MAY_ASK: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};
const PREFIX = 'sluice-connect.';
const STATE_MS = 900_000;
/** How long a request that comes back waits for the connection: within the usual bound of clients. */
const WAIT_MS = 20_000;
/** Of what the request had brought back, as bytes of JSON. */
const MOST_OWN = 8000;

export class ConnectionQuestions {
  readonly #deps: ConnectionQuestionsDeps;
  readonly #seal: SealedText<State>;

  constructor(deps: ConnectionQuestionsDeps) {
    this.#deps = deps;
    this.#seal = new SealedText(deps.secret, 'mcp connection question');
  }

  /** The result that asks; undefined: the request, or its client, cannot be asked so. */
  ask(
    needed: ConnectionNeeded,
    message: RpcMessage,
    endpoint: string,
    principal: Principal,
  ): JsonObject | undefined {
    if (!isRequest(message) || !Object.hasOwn(MAY_ASK, message.method) || !opensAddresses(message))
      return undefined;
    const { inputResponses, requestState } = message.params ?? {};
    const own = {
      ...(inputResponses === undefined ? {} : { inputResponses }),
      ...(requestState === undefined ? {} : { requestState }),
    };
    if (Buffer.byteLength(JSON.stringify(own)) > MOST_OWN) return undefined;
    const { server, link } = needed;
    const state = PREFIX.concat(
      this.#seal.seal({
        of: originOf(message, endpoint, principal),
        server,
        link,
        mark: this.#markOf(principal, server),
        until: Date.now() + STATE_MS,
        own,
      }),
    );
    return connectionAsked(needed, state);
  }

  /** Whether a message comes back from such a question. */
  isAnswer(message: RpcMessage): message is RpcRequest {
    const state = isRequest(message) ? message.params?.requestState : undefined;
    return typeof state === 'string' && state.startsWith(PREFIX);
  }

  /**
   * The request as it was before the question, once the user has connected or has not for a while.
   * @throws McpError for what was not asked of this caller, and where the user declines; what the signal aborts with
   */
  async answered(
    message: RpcRequest,
    endpoint: string,
    principal: Principal,
    signal: AbortLike,
  ): Promise<RpcRequest> {
    const { id, params = {} } = message;
    const { inputResponses, requestState, ...rest } = params;
    const state = this.#seal.open(String(requestState).slice(PREFIX.length));
    if (
      state === undefined ||
      state.of !== originOf(message, endpoint, principal) ||
      state.until < Date.now()
    )
      throw new McpError(RPC.invalidParams, 'Invalid params: requestState is not known, or not any more', {
        id,
      });
    const answer = isObject(inputResponses) ? inputResponses[CONNECT_KEY] : undefined;
    const action = isObject(answer) ? answer.action : undefined;
    if (action === 'decline' || action === 'cancel') throw declined(state, id);
    if (action === 'accept') await this.#connected(state, principal, signal);
    return { ...message, params: { ...rest, ...state.own } };
  }

  /** Resolves when the connection has changed, or after a while. */
  #connected({ server, mark }: State, principal: Principal, signal: AbortLike): Promise<void> {
    const hasChanged = (): boolean => {
      const now = this.#markOf(principal, server);
      return now !== '' && now !== mark;
    };
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        leave();
        signal.removeEventListener('abort', left);
        settle();
      };
      const left = (): void => end(() => reject(signal.reason));
      const timer = setTimeout(() => end(resolve), WAIT_MS);
      const leave = this.#deps.replica.onChanged(({ kind }) => {
        if (kind === 'connection' && hasChanged()) end(resolve);
      });
      signal.addEventListener('abort', left);
      if (signal.aborted) left();
      else if (hasChanged()) end(resolve);
    });
  }

  /** Empty: the user has no connection that counts. */
  #markOf({ organisationId, workspaceId = '', userId }: Principal, slug: string): string {
    const { replica } = this.#deps;
    const server = replica.serverBySlug(organisationId, workspaceId, slug);
    if (server === undefined || userId === undefined) return '';
    const found = replica.connectionOf(organisationId, server.id, userId);
    return found === undefined || found.body.isStale ? '' : `${found.id} ${found.version}`;
  }
}

function declined({ server, link }: State, id: RpcRequest['id']): McpError {
  const message = `the user has not connected to the MCP server ${server}: connect at ${link} and try again`;
  const data = { reason: 'connection_needed', server, url: link };
  return new McpError(RPC.refused, message, { id, status: 200, data });
}

/** Which request it is: another one does not open its state. */
function originOf({ method, params = {} }: RpcRequest, endpoint: string, principal: Principal): string {
  const field = Object.hasOwn(MAY_ASK, method) ? MAY_ASK[method]! : '';
  return JSON.stringify([endpoint, callerOf(principal), method, params[field] ?? null]);
}
