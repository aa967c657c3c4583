// The MCP gateway as the edge sees it: a request of the protocol in, an answer out.
import type { CallToolRequest } from '../../gen/gateway/inference/v2/mcp_pb.ts';
import type { McpServer } from '../access/mcp/mcp-server.ts';
import type { Call } from '../call/call.ts';
import type { Principal } from '../call/principal.ts';
import { fail } from '../lib/errors.ts';
import { GatewayHeaders } from '../lib/gateway-headers.ts';
import { Admission, sessionOf } from './admission.ts';
import { AllServers } from './all/all-servers.ts';
import type { ToolCallContext } from './calls/call-context.ts';
import { CountedCalls } from './calls/counted-calls.ts';
import { errorReply, notAllowed } from './error-reply.ts';
import { type GatewayDeps, type McpReply, type McpRequest, OWN_OPERATIONS } from './gateway-deps.ts';
import { ListChanges } from './notices/list-changes.ts';
import { noticedGet, noticedListen, type OwnNotices, withListChanged } from './notices/own-notices.ts';
import type { OpenStreams } from './open-streams.ts';
import { readBody } from './read-body.ts';
import type { Asked, AskedWithout, Relayed } from './relay/asked.ts';
import { JSON_HEADERS, resultAnswer } from './relay/own-answer.ts';
import { SessionIds } from './session-ids.ts';
import { guarded } from './stream-text.ts';
import { withServerTasks } from './tasks/asked-tasks.ts';
import { ConnectionNeeded, CredentialsRenewed, connectionError } from './upstream/connection-needed.ts';
import { ConnectionQuestions } from './upstream/connection-questions.ts';
import { type Target, targetOf } from './upstream/target.ts';
import { unconnectedResult } from './upstream/unconnected.ts';
import { checkVisible } from './visibility.ts';
import { type MaybeAsked, WatchedAnswers } from './watched-answers.ts';
import { Ways } from './ways.ts';
import { eraOf } from './wire/eras.ts';
import type { HeaderOf } from './wire/header-mismatch.ts';
import { isRequest, type RpcMessage, type RpcRequest } from './wire/json-rpc.ts';
import { toMcpError } from './wire/mcp-error.ts';
import { encodedHeader } from './wire/param-headers.ts';

/** What an answer, or a failure in the place of one, is made with. */
type Told = Pick<Asked, 'server' | 'principal' | 'era' | 'opensUrls'> & Partial<Pick<Asked, 'message'>>;

export class McpGateway {
  readonly #deps: GatewayDeps;
  readonly #ids: SessionIds;
  readonly #ways: Ways;
  readonly #all: AllServers;
  readonly #changes: ListChanges;
  readonly #questions: ConnectionQuestions;
  readonly #admission: Admission;
  readonly #calls: CountedCalls;
  readonly #watched: WatchedAnswers;

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
    this.#ids = new SessionIds(deps.secret);
    this.#ways = new Ways(deps);
    this.#changes = new ListChanges(deps.replica);
    this.#questions = new ConnectionQuestions(deps);
    this.#all = new AllServers({
      ...deps,
      forward: (asked) => this.#posted(asked),
    });
    this.#admission = new Admission(deps, this.#ids, this.#all);
    this.#watched = new WatchedAnswers(deps, this.#admission);
    this.#calls = new CountedCalls({ ...deps, all: this.#all, post: (asked) => this.#post(asked) });
  }

  get streams(): OpenStreams {
    return this.#watched.streams;
  }

  /** Whether operations of the gateway are tools, at /admin/mcp. */
  get hasOperations(): boolean {
    return this.#deps.hasOperations;
  }

  /** Never throws for what a caller or an upstream does. */
  async serve(request: McpRequest): Promise<McpReply> {
    let id: RpcRequest['id'] | null = null;
    let told: Told | undefined;
    let principal: Principal | undefined;
    let given: RpcMessage | undefined;
    try {
      principal = this.#admission.principal(request);
      const server = this.#admission.server(principal, request);
      if (request.verb !== 'POST') return await this.#withoutMessage(request, principal, server);
      const { message, text } = await readBody(
        request.body ?? new Uint8Array(),
        this.#deps.bounds.messageBytes,
      );
      given = message;
      if ('id' in message) id = message.id;
      const asked = await this.#asked(request, principal, server, message, text);
      told = asked;
      const own = asked.message;
      if (isRequest(own) && own.method === 'tools/call') {
        const called = await this.#calls.answer(request.call, { ...asked, message: own });
        return this.#reply(request, called.asked, called.answer, own.id, called.server);
      }
      checkVisible(asked.server, own);
      const answer = await this.#watched.unlessHidden(request.call, asked, () => this.#post(asked));
      return this.#reply(request, asked, this.#noticed(asked, answer), id);
    } catch (thrown) {
      const message = given ?? (await this.#unread(request, principal));
      if (message !== undefined && 'id' in message) id = message.id;
      return this.#failed(await this.#calls.refused(request, principal, message, thrown), id, told);
    }
  }

  /** The message of a request that was refused before it was read; undefined: there is none that can be read. */
  async #unread({ body }: McpRequest, principal: Principal | undefined): Promise<RpcMessage | undefined> {
    if (principal === undefined || body === undefined) return undefined;
    try {
      return (await readBody(body, this.#deps.bounds.messageBytes)).message;
    } catch {
      return undefined;
    }
  }

  /** A message as it goes on: as it came, or as it was before the user was asked to connect. */
  async #asked(
    request: McpRequest,
    principal: Principal,
    server: McpServer,
    message: RpcMessage,
    text: string,
  ): Promise<Asked> {
    const { call } = request;
    const header = headerOf(call);
    const era = eraOf(message, header);
    const session = this.#admission.session(
      request,
      principal,
      server,
      'method' in message ? message.method : '',
    );
    const isBack = era === 'modern' && this.#questions.isAnswer(message);
    const own = isBack ? await this.#questions.answered(message, server.id, principal, call.signal) : message;
    // What was allowed before the wait is asked again.
    if (isBack && !(await this.#deps.isStillValid(call)))
      throw fail('unauthenticated', 'the API key or token is not valid any more');
    const now = isBack ? this.#admission.server(principal, request) : server;
    const {
      message: sent,
      named,
      tasks,
    } = AllServers.isStandIn(now)
      ? this.#all.withTasks(own, principal)
      : withServerTasks(own, this.#deps.tasks.of(now.id, principal), now);
    return {
      server: now,
      principal,
      headers: named === undefined ? call.headers : withName(call.headers, named),
      era,
      message: sent,
      text: sent === message ? text : JSON.stringify(sent),
      ...sessionOf(session, message, header('mcp-protocol-version')),
      signal: call.signal,
      call,
      ...(tasks.length === 0 ? {} : { tasks }),
      ...((request.searchesTools ?? this.#deps.searchesTools) ? { searchesTools: true } : {}),
    };
  }

  /** A failure as the answer. @param told undefined: the message could not be read */
  #failed(thrown: unknown, id: RpcRequest['id'] | null, told: Told | undefined): McpReply {
    if (!(thrown instanceof ConnectionNeeded)) return errorReply(toMcpError(thrown, id));
    const { era, message, server, principal, opensUrls = false } = told ?? {};
    const result =
      era === 'modern' && message !== undefined && server !== undefined && principal !== undefined
        ? this.#questions.ask(thrown, message, server.id, principal)
        : undefined;
    if (result === undefined || id === null) return errorReply(connectionError(thrown, id, opensUrls));
    return { status: 200, headers: JSON_HEADERS, body: JSON.stringify({ jsonrpc: '2.0', id, result }) };
  }

  /** Ends all streams, and what waits for clients. */
  close(): void {
    this.streams.close();
    this.#ways.close();
    this.#deps.lines.close();
    this.#deps.programs.close();
  }

  /** A tool call that came over gRPC or Connect: in the present revision, without a session. */
  fromRpc(_request: CallToolRequest, _call: Call): ToolCallContext {
    throw fail('operation_unsupported', 'tools are called over HTTP, at /<server>/mcp');
  }

  async #post(asked: Asked): Promise<Relayed> {
    return AllServers.isStandIn(asked.server) ? this.#all.post(asked) : this.#posted(asked);
  }

  /** To one server; what can be said of it without a connection is said to clients that can be asked to connect. */
  async #posted(asked: Asked): Promise<Relayed> {
    const { message, era, server } = asked;
    try {
      return await this.#reached(asked, (target) => this.#ways.post(target, asked));
    } catch (thrown) {
      const isAsked = thrown instanceof ConnectionNeeded && era === 'modern' && isRequest(message);
      const result = isAsked ? unconnectedResult(server, message) : undefined;
      if (result === undefined || !isRequest(message)) throw thrown;
      return resultAnswer(message.id, result);
    }
  }

  /** Reaches a server: once more where its credentials were renewed, since a request that is refused does nothing. */
  async #reached(asked: AskedWithout, reach: (target: Target) => Promise<Relayed>): Promise<Relayed> {
    try {
      return await reach(await this.#target(asked));
    } catch (error) {
      if (error instanceof CredentialsRenewed) return reach(await this.#target(asked));
      throw error;
    }
  }

  /** What a client learns of changes, and how it learns that it will. */
  #noticed(asked: Asked, answer: Relayed): Relayed {
    const { message, era } = asked;
    const method = isRequest(message) ? message.method : '';
    if (method === 'initialize' || method === 'server/discover') return withListChanged(answer);
    if (method !== 'subscriptions/listen' || era !== 'modern') return answer;
    return noticedListen(this.#ownNotices(asked), asked, answer);
  }

  #ownNotices({ server, principal, signal }: AskedWithout): OwnNotices {
    const { organisationId, workspaceId = '' } = principal;
    const { replica } = this.#deps;
    const servers = (): readonly McpServer[] => {
      if (AllServers.isStandIn(server)) return this.#all.servers(principal);
      const now = replica.serverBySlug(organisationId, workspaceId, server.slug);
      return now === undefined ? [] : [now];
    };
    return { changes: this.#changes, servers, signal };
  }

  async #withoutMessage(request: McpRequest, principal: Principal, server: McpServer): Promise<McpReply> {
    const { verb, call } = request;
    const session = this.#admission.session(request, principal, server, '');
    const version = call.headers.plain('mcp-protocol-version') ?? '';
    if (session === undefined && (verb === 'DELETE' || version >= '2026')) throw notAllowed();
    const asked: AskedWithout = {
      server,
      principal,
      headers: call.headers,
      era: 'legacy',
      ...sessionOf(session, undefined, version),
      signal: call.signal,
      call,
    };
    const answer = await (verb === 'GET' ? this.#get(asked) : this.#end(asked));
    return this.#reply(request, asked, answer, null);
  }

  async #get(asked: AskedWithout): Promise<Relayed> {
    const answer = AllServers.isStandIn(asked.server)
      ? this.#all.notices(asked)
      : await this.#reached(asked, (target) => this.#ways.get(target, asked));
    return noticedGet(this.#ownNotices(asked), answer);
  }

  async #end(asked: AskedWithout): Promise<Relayed> {
    if (AllServers.isStandIn(asked.server)) return this.#all.end(asked);
    return this.#reached(asked, (target) => this.#ways.delete(target, asked));
  }

  async #target({ server, principal, headers, call }: AskedWithout): Promise<Target> {
    const target = await targetOf(this.#deps, server, principal, headers, this.#deps.isOwnKey);
    if (server.id !== OWN_OPERATIONS || call === undefined) return target;
    return { ...target, callOwn: (request, signal) => this.#deps.callOwn(call, request, signal) };
  }

  /** @param called the server of a stream's messages */
  #reply(
    request: McpRequest,
    asked: MaybeAsked,
    answer: Relayed,
    id: RpcRequest['id'] | null,
    called: McpServer = asked.server,
  ): McpReply {
    const { server, principal } = asked;
    const { session, isHeld, status, body } = answer;
    const headers = [...answer.headers];
    if (session !== undefined)
      headers.push([
        'mcp-session-id',
        this.#ids.seal(
          { kind: isHeld ? 'held' : 'relay', id: session, ...(asked.opensUrls ? { opensUrls: true } : {}) },
          server.id,
          principal,
        ),
      ]);
    if (body === undefined || typeof body === 'string') return { status, headers, body };
    const { call } = request;
    const failed = (thrown: unknown): string => String(this.#failed(thrown, id, asked).body);
    const leave = this.#watched.whileAllowed(call, asked, called);
    return { status, headers, body: guarded(body, id === null ? undefined : failed, leave) };
  }
}

function headerOf(call: Call): HeaderOf {
  return (name) => call.headers.plain(name);
}

/** `Mcp-Name` with the server's own id of a task. */
function withName(headers: GatewayHeaders, name: string): GatewayHeaders {
  if (headers.plain('mcp-name') === undefined) return headers;
  return new GatewayHeaders(headers.names, { ...headers.raw, 'mcp-name': encodedHeader(name) });
}
