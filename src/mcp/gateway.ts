// The MCP gateway as the edge sees it: a request of the protocol in, an answer out.
import { create } from '@bufbuild/protobuf';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResponse,
} from '../../gen/gateway/inference/v2/mcp_pb.ts';
import type { McpServer } from '../access/mcp/mcp-server.ts';
import type { Call } from '../call/call.ts';
import type { Principal } from '../call/principal.ts';
import type { AbortLike } from '../lib/abort.ts';
import { fail } from '../lib/errors.ts';
import { GatewayHeaders } from '../lib/gateway-headers.ts';
import { AllServers } from './all/all-servers.ts';
import { CALL_TOOL, calledParams, SEARCH_TOOLS } from './all/search.ts';
import { factsOf } from './bridge/client-session.ts';
import { declaresUrl } from './bridge/url-questions.ts';
import { attachContext, frameOf, type ToolCallContext } from './calls/call-context.ts';
import type { BodyRules } from './calls/kept-bodies.ts';
import { noteCall } from './calls/note-call.ts';
import type { McpDeps } from './deps.ts';
import { liveSwitches } from './live-switches.ts';
import { ListChanges } from './notices/list-changes.ts';
import { noticedGet, noticedListen, type OwnNotices, withListChanged } from './notices/own-notices.ts';
import { OpenStreams } from './open-streams.ts';
import { readBody } from './read-body.ts';
import type { Asked, AskedWithout } from './relay/asked.ts';
import type { Relayed } from './relay/relay.ts';
import { SessionIds, type SessionRef } from './session-ids.ts';
import { guarded } from './stream-text.ts';
import { TASKS, unknownTask, withServerTasks } from './tasks/asked-tasks.ts';
import { ConnectionNeeded, CredentialsRenewed, connectionError } from './upstream/connection-needed.ts';
import { ConnectionQuestions } from './upstream/connection-questions.ts';
import { type OwnAnswer, type OwnRequest, type Target, targetOf } from './upstream/target.ts';
import { unconnectedResult } from './upstream/unconnected.ts';
import { checkVisible, isToolCallable } from './visibility.ts';
import { Ways } from './ways.ts';
import { eraOf, META, metaOf } from './wire/eras.ts';
import type { HeaderOf } from './wire/header-mismatch.ts';
import { isObject, isRequest, type JsonObject, type RpcMessage, type RpcRequest } from './wire/json-rpc.ts';
import { McpError, RPC, toMcpError } from './wire/mcp-error.ts';
import { checkParamHeaders, encodedHeader } from './wire/param-headers.ts';
import type { Frame } from './wire/sse-frames.ts';

/** A request whose caller is known. */
export interface McpRequest {
  readonly verb: string;
  /** Slug of the server; undefined: all servers of the workspace. */
  readonly slug: string | undefined;
  /** Id or slug; undefined: the caller's. */
  readonly workspace: string | undefined;
  readonly call: Call;
  /** At the endpoint of all servers: whether tools are searched, in the place of a list of all; undefined: as the settings say. */
  readonly searchesTools?: boolean | undefined;
  /** Of a POST. */
  readonly body: Uint8Array | undefined;
}

/** An answer that has begun; of a stream the text comes as it does. */
export interface McpReply {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | AsyncIterable<string> | undefined;
}

export interface GatewayDeps extends McpDeps {
  readonly hasOperations: boolean;
  /** Runs an operation of this gateway with the credentials of a call. Never throws. */
  readonly callOwn: (outer: Call, request: OwnRequest, signal: AbortLike) => Promise<OwnAnswer>;
  /** Whether tools of the endpoint of all servers are searched where the client does not say. */
  readonly searchesTools: boolean;
  readonly bodies: BodyRules;
  /** Counts, limits and logs a tool call, and makes it. */
  readonly callTool: (call: Call, request: CallToolRequest) => Promise<AsyncIterable<CallToolResponse>>;
  /** Whether the caller may use MCP. @throws GatewayError forbidden */
  readonly admit: (principal: Principal) => void;
  /** Asks the same again, as things are now. */
  readonly isStillValid: (call: Call) => Promise<boolean>;
  /** Id of a workspace of the organisation, by id or slug. */
  readonly workspaceId: (organisationId: string, idOrSlug: string) => string | undefined;
  readonly isOwnKey: (text: string) => boolean;
}

/** The revision whose clients may open an address that an error names (-32042). */
const OPENS_BY_ERROR = '2025-11-25';

const MOST_NAME = 1024;

const JSON_HEADERS = [['content-type', 'application/json']] as const;

/** What an answer, or a failure in the place of one, is made with. */
type Told = Pick<Asked, 'server' | 'principal' | 'era' | 'opensUrls'> & Partial<Pick<Asked, 'message'>>;

/** Id of the server whose tools are operations of this gateway: no stored one has it. */
export const OWN_OPERATIONS = 'own-operations';

export class McpGateway {
  readonly #deps: GatewayDeps;
  readonly #ids: SessionIds;
  readonly #ways: Ways;
  readonly #all: AllServers;
  readonly #changes: ListChanges;
  readonly #questions: ConnectionQuestions;
  readonly streams = new OpenStreams();

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
      principal = this.#principal(request);
      const server = this.#server(principal, request);
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
      if (isRequest(own) && own.method === 'tools/call')
        return await this.#toolCall(request, { ...asked, message: own });
      checkVisible(asked.server, own);
      const answer = await this.#unlessHidden(request, asked, () => this.#post(asked));
      return this.#reply(request, asked, this.#noticed(asked, answer), id);
    } catch (thrown) {
      const message = given ?? (await this.#unread(request, principal));
      if (message !== undefined && 'id' in message) id = message.id;
      return this.#failed(await this.#refused(request, principal, message, thrown), id, told);
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

  /** A tool call that was refused before it was counted: it is counted and logged, too. @returns why it is refused */
  async #refused(
    { call, slug }: McpRequest,
    principal: Principal | undefined,
    message: RpcMessage | undefined,
    thrown: unknown,
  ): Promise<unknown> {
    if (principal === undefined || message === undefined || call.record.mcp !== undefined) return thrown;
    if (!isRequest(message) || message.method !== 'tools/call' || !isToolName(message.params?.name))
      return thrown;
    const run = (): never => {
      throw thrown;
    };
    const server = this.#all.standIn(principal, slug);
    const context = { server, request: message, host: '', answer: undefined, refusal: thrown, run };
    try {
      await this.#counted(call, message, message.params.name, context);
    } catch (own) {
      return own;
    }
    return thrown;
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
    const session = this.#session(request, principal, server, 'method' in message ? message.method : '');
    const isBack = era === 'modern' && this.#questions.isAnswer(message);
    const own = isBack ? await this.#questions.answered(message, server.id, principal, call.signal) : message;
    // What was allowed before the wait is asked again.
    if (isBack && !(await this.#deps.isStillValid(call)))
      throw fail('unauthenticated', 'the API key or token is not valid any more');
    const now = isBack ? this.#server(principal, request) : server;
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
      const response = { jsonrpc: '2.0', id: message.id, result } as const;
      const body = JSON.stringify(response);
      return { status: 200, headers: JSON_HEADERS, body, response, session: undefined, isForgotten: false };
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

  #principal({ call }: McpRequest): Principal {
    const principal = call.identity?.principal;
    if (principal === undefined) throw fail('unauthenticated', 'an API key is needed');
    this.#deps.admit(principal);
    return principal;
  }

  #server(principal: Principal, { slug, workspace }: McpRequest): McpServer {
    const { organisationId, workspaceId, userId } = principal;
    if (workspaceId === undefined) throw fail('forbidden', 'a key of a workspace is needed');
    if (workspace !== undefined && this.#deps.workspaceId(organisationId, workspace) !== workspaceId)
      throw fail('forbidden', 'the key is not of this workspace');
    if (slug === undefined) return this.#all.standIn(principal);
    const server = this.#deps.replica.serverBySlug(organisationId, workspaceId, slug);
    if (server === undefined) throw noServer();
    if (!server.allowsUser(userId))
      throw fail('forbidden', 'the user of this key may not use this MCP server');
    return server;
  }

  /** The session that the client names; undefined: none. @throws McpError 404 for one that is not the caller's */
  #session(
    { call }: McpRequest,
    principal: Principal,
    server: McpServer,
    method: string,
  ): SessionRef | undefined {
    const given = call.headers.plain('mcp-session-id');
    if (given === undefined || method === 'initialize') return undefined;
    const session = this.#ids.open(given, server.id, principal);
    if (session === undefined)
      throw new McpError(RPC.noSession, 'Session not found: initialize again', { status: 404 });
    return session;
  }

  async #withoutMessage(request: McpRequest, principal: Principal, server: McpServer): Promise<McpReply> {
    const { verb, call } = request;
    const session = this.#session(request, principal, server, '');
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

  async #toolCall(request: McpRequest, asked: Asked & { readonly message: RpcRequest }): Promise<McpReply> {
    const { message, headers } = asked;
    const { name, arguments: args } = message.params ?? {};
    if (!isToolName(name))
      throw fail('validation_failed', `Invalid params: name must be a text of 1 to ${MOST_NAME} characters`);
    const isSearched = asked.searchesTools && AllServers.isStandIn(asked.server);
    if (isSearched && name === CALL_TOOL) return this.#toolCall(request, withCalled(asked));
    const isSearch = isSearched && name === SEARCH_TOOLS;
    const { server, tool } =
      AllServers.isStandIn(asked.server) && !isSearch
        ? this.#all.toolOf(asked.principal, name)
        : { server: asked.server, tool: name };
    if (asked.era === 'modern')
      checkParamHeaders(message.id, schemaOf(server, tool), args, (header) => headers.plain(header));
    let relayed: Relayed | undefined;
    const context: ToolCallContext = {
      server,
      request: message,
      host: hostOf(server),
      answer: undefined,
      run: async (written, mayWait) => {
        const own = written === args ? asked : withArguments(asked, written);
        relayed = isSearch
          ? await this.#all.search(asked, written)
          : await this.#post(mayWait ? own : withoutTasks(own));
        return relayed;
      },
    };
    const messages = await this.#counted(request.call, message, tool, context);
    const answer = context.answer ?? { status: 202, headers: [], body: undefined };
    const body = typeof answer.body === 'string' ? await onlyText(messages) : framesIn(messages);
    return this.#reply(
      request,
      asked,
      { ...answer, body, session: relayed?.session, isForgotten: false },
      message.id,
      server,
    );
  }

  /** Through the operation that counts, limits and logs tool calls. */
  #counted(
    call: Call,
    message: RpcRequest,
    tool: string,
    context: ToolCallContext,
  ): Promise<AsyncIterable<CallToolResponse>> {
    noteCall(call, message, context.server.slug, tool, this.#deps.bodies);
    const input = create(CallToolRequestSchema, { server: context.server.slug, tool });
    return this.#deps.callTool(call, attachContext(input, context));
  }

  async #target({ server, principal, headers, call }: AskedWithout): Promise<Target> {
    const target = await targetOf(this.#deps, server, principal, headers, this.#deps.isOwnKey);
    if (server.id !== OWN_OPERATIONS || call === undefined) return target;
    return { ...target, callOwn: (request, signal) => this.#deps.callOwn(call, request, signal) };
  }

  /** @param called the server of a stream's messages */
  #reply(
    request: McpRequest,
    asked: AskedWithout & Partial<Pick<Asked, 'message'>>,
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
    const leave = this.#whileAllowed(call, asked, called, principal);
    return { status, headers, body: guarded(body, id === null ? undefined : failed, leave) };
  }

  /** An answer that does not begin before a task is over is waited for as a stream is: while the caller may have it. */
  async #unlessHidden({ call }: McpRequest, asked: Asked, work: () => Promise<Relayed>): Promise<Relayed> {
    const { message, server, principal } = asked;
    if (!isRequest(message) || message.method !== 'tasks/result') return work();
    const leave = this.#whileAllowed(call, asked, server, principal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Ends a call when its caller may not have the answer any more. @returns what ends the watch */
  #whileAllowed(
    call: Call,
    asked: AskedWithout & Partial<Pick<Asked, 'message'>>,
    called: McpServer,
    principal: Principal,
  ): () => void {
    const isHidden = this.#isTaskHidden(asked);
    return this.streams.add({
      isAllowed: async () =>
        !isHidden() && this.#isOpen(called, principal) && (await this.#deps.isStillValid(call)),
      end: (why) => call.abort(isHidden() ? unknownTask() : why),
    });
  }

  /** Whether the tool of the task that a request waits for was hidden meanwhile. */
  #isTaskHidden(asked: AskedWithout & Partial<Pick<Asked, 'message'>>): () => boolean {
    const { message, tasks: [task] = [], server, principal } = asked;
    if (task === undefined || message === undefined || !isRequest(message)) return () => false;
    if (!message.method.startsWith('tasks/') || AllServers.isStandIn(server)) return () => false;
    const switches = liveSwitches(this.#deps.replica, server, principal);
    return () => !isToolCallable(switches, task.tool);
  }

  /** Whether the server is still there for its caller. */
  #isOpen(server: McpServer, { userId }: Principal): boolean {
    if (AllServers.isStandIn(server)) return true;
    const { organisationId, workspaceId, slug, id } = server;
    const now = this.#deps.replica.serverBySlug(organisationId, workspaceId, slug);
    return now?.id === id && now.allowsUser(userId);
  }
}

/** @param message the first one of a session says what the client can @param version of an older client */
function sessionOf(
  session: SessionRef | undefined,
  message: RpcMessage | undefined,
  version: string | undefined,
): Pick<Asked, 'session' | 'bridge' | 'opensUrls'> {
  const params = message !== undefined && 'method' in message ? message.params : undefined;
  const isFirst = message !== undefined && isRequest(message) && message.method === 'initialize';
  const isNew = (isFirst ? params?.protocolVersion : version) === OPENS_BY_ERROR;
  const opens = (declared: boolean): Pick<Asked, 'opensUrls'> =>
    isNew && declared ? { opensUrls: true } : {};
  if (isFirst) return { session: undefined, ...opens(declaresUrl(params?.capabilities)) };
  if (session?.kind !== 'held') return { session: session?.id, ...opens(session?.opensUrls === true) };
  return { session: undefined, bridge: session.id, ...opens(declaresUrl(factsOf(session.id).capabilities)) };
}

export function headerOf(call: Call): HeaderOf {
  return (name) => call.headers.plain(name);
}

function noServer(): McpError {
  return new McpError(RPC.refused, 'there is no such MCP server in this workspace', {
    status: 404,
    data: { reason: 'not_found' },
  });
}

function isToolName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name.length <= MOST_NAME;
}

function notAllowed(): McpError {
  return new McpError(RPC.refused, 'Method not allowed', { status: 405, headers: [['allow', 'POST']] });
}

export function errorReply(error: McpError): McpReply {
  return {
    status: error.status,
    headers: [['content-type', 'application/json'], ...(error.rpc.headers ?? [])],
    body: error.text(),
  };
}

/** Of the books: a program has its address there. */
function hostOf({ integration: { body } }: McpServer): string {
  if (body.url === '') return '';
  return body.transport === 'stdio' ? body.url : new URL(body.url).host;
}

/** The schema of a tool's arguments as the last sync saw it. */
function schemaOf(server: McpServer, name: string): unknown {
  return server.capabilities.find((one) => one.type === 'tool' && one.name === name)?.described.inputSchema;
}

/** The call that a call of `call_tool` means. @throws GatewayError */
function withCalled(
  asked: Asked & { readonly message: RpcRequest },
): Asked & { readonly message: RpcRequest } {
  const message = { ...asked.message, params: calledParams(asked.message.params ?? {}) };
  return { ...asked, message, text: JSON.stringify(message) };
}

function withArguments(asked: Asked & { readonly message: RpcRequest }, args: JsonObject | undefined): Asked {
  const { params } = asked.message;
  const message = { ...asked.message, params: { ...(isObject(params) ? params : {}), arguments: args } };
  return { ...asked, message, text: JSON.stringify(message) };
}

/** `Mcp-Name` with the server's own id of a task. */
function withName(headers: GatewayHeaders, name: string): GatewayHeaders {
  if (headers.plain('mcp-name') === undefined) return headers;
  return new GatewayHeaders(headers.names, { ...headers.raw, 'mcp-name': encodedHeader(name) });
}

/** A call whose result is waited for: neither the client nor its capabilities ask for a task. */
function withoutTasks(asked: Asked): Asked {
  if (!isRequest(asked.message)) return asked;
  const { task: _, ...params } = asked.message.params ?? {};
  const meta = metaOf(asked.message);
  const capabilities = meta?.[META.clientCapabilities];
  const { [TASKS]: __, ...extensions } =
    isObject(capabilities) && isObject(capabilities.extensions) ? capabilities.extensions : {};
  const _meta = { ...meta, [META.clientCapabilities]: { ...(capabilities as JsonObject), extensions } };
  const isDeclared = isObject(capabilities) && isObject(capabilities.extensions);
  const message = { ...asked.message, params: isDeclared ? { ...params, _meta } : params };
  return { ...asked, message, text: JSON.stringify(message) };
}

async function onlyText(messages: AsyncIterable<CallToolResponse>): Promise<string> {
  let text = '';
  for await (const message of messages) text = message.message;
  return text;
}

async function* framesIn(messages: AsyncIterable<CallToolResponse>): AsyncGenerator<Frame, void> {
  for await (const message of messages) yield frameOf(message) ?? { data: message.message };
}
