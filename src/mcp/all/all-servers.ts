// All servers of a workspace at one endpoint. It answers as a server of 2026-07-28 would, whatever its servers speak;
// clients of older revisions reach it over the bridge for such servers.
import type { McpReplica } from '../../access/mcp/mcp-replica.ts';
import { McpServer } from '../../access/mcp/mcp-server.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { type BridgeDeps, framesOf, modernHeaders, withoutMessage } from '../bridge/bridge-deps.ts';
import type { ClientSession } from '../bridge/client-session.ts';
import { OldOnNew } from '../bridge/old-on-new.ts';
import type { Asked, AskedRequest, AskedWithout, Relayed } from '../relay/asked.ts';
import { emptyAnswer, eventsAnswer, resultAnswer } from '../relay/own-answer.ts';
import { type AskedTasks, TASKS, unknownTask, withServerTasks } from '../tasks/asked-tasks.ts';
import { declaresTasks, tasksNotDeclared } from '../tasks/task-shapes.ts';
import { checkVisible, isToolCallable, LISTS, unknownTool } from '../visibility.ts';
import { META, MODERN_VERSIONS, metaOf } from '../wire/eras.ts';
import { isObject, isRequest, type JsonObject, type RpcMessage, type RpcRequest } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import type { Frame } from '../wire/sse-frames.ts';
import { mergedNotices } from './merged-notices.ts';
import { itemAt, type Named, namedBy, resultAt, uriNamedBy } from './names.ts';
import { SEARCH_LIST, searchResult } from './search.ts';
import { wholeList } from './whole-list.ts';

export interface AllServersDeps extends BridgeDeps {
  readonly replica: Pick<McpReplica, 'serverBySlug' | 'serversOf' | 'onChanged'>;
  /** Sends a message of 2026-07-28 to one server, whatever that speaks. @throws GatewayError, McpError */
  readonly forward: (asked: Asked) => Promise<Relayed>;
}

/** Id and slug of the set of all servers: no server can have them. */
const ALL = 'mcp';
const NOWHERE = { origin: '', path: '', headers: [] };
/** In `_meta` of lists: servers whose items are missing, and why. */
export const UNAVAILABLE = 'sluice/unavailableServers';
const INFO = { name: 'sluice', title: 'All MCP servers of the workspace', version: '1' };

export class AllServers {
  readonly #deps: AllServersDeps;
  readonly #older: OldOnNew;

  constructor(deps: AllServersDeps) {
    this.#deps = deps;
    this.#older = new OldOnNew({ ...deps, send: (asked) => this.#answer(asked) });
  }

  /** All servers as one, where a single server is expected. @param slug by which it was asked for */
  standIn({ organisationId, workspaceId }: Principal, slug: string = ALL): McpServer {
    const place = { organisationId, slug, id: ALL, createdAt: 0, updatedAt: 0, version: 0 };
    const of = { name: ALL, ownerId: '' };
    return new McpServer({
      server: { ...place, workspaceId, body: { ...of, integrationId: ALL } },
      integration: {
        ...place,
        workspaceId: undefined,
        body: { ...of, level: 'organisation', url: '', transport: 'http', authType: 'none' },
      },
      catalogue: undefined,
      openApi: undefined,
    } as ConstructorParameters<typeof McpServer>[0]);
  }

  static isStandIn({ id }: McpServer): boolean {
    return id === ALL;
  }

  /** What the caller may use now. */
  servers({ organisationId, workspaceId = '', userId }: Principal): readonly McpServer[] {
    return this.#deps.replica
      .serversOf(organisationId, workspaceId)
      .filter((server) => server.allowsUser(userId));
  }

  /** The server and the name there of a tool. @throws GatewayError not_found */
  toolOf(principal: Principal, name: string): { readonly server: McpServer; readonly tool: string } {
    const named = namedBy(name);
    const server = this.#server(principal, named);
    if (named === undefined || named.name === '' || server === undefined) throw unknownTool(name);
    return { server, tool: named.name };
  }

  /**
   * A message with its tasks. Those of servers have the server's slug before their ids, and are opened with the server;
   * the others are the endpoint's own.
   * @throws GatewayError not_found
   */
  withTasks(message: RpcMessage, principal: Principal): AskedTasks {
    const params = 'method' in message && message.method.startsWith('tasks/') ? message.params : undefined;
    const isElsewhere = typeof params?.taskId !== 'string' || namedBy(params.taskId) !== undefined;
    if (isElsewhere) return { message, named: undefined, tasks: [] };
    const all = this.standIn(principal);
    const asked = withServerTasks(message, this.#deps.tasks.of(all.id, principal), all);
    for (const { tool } of asked.tasks) {
      const of = this.toolOf(principal, tool);
      if (!isToolCallable(of.server, of.tool)) throw unknownTask();
    }
    return asked;
  }

  /** Any message; tool calls come when they are counted. @throws GatewayError, McpError */
  async post(asked: Asked): Promise<Relayed> {
    const { message, era } = asked;
    if (era === 'modern') return this.#answer(asked);
    if (isRequest(message) && message.method === 'initialize')
      return this.#older.initialize(NOWHERE, { ...asked, message });
    return this.#older.post(NOWHERE, asked, this.#session(asked));
  }

  /** The stream of notices of an older client. */
  notices(asked: AskedWithout): Relayed {
    const session = this.#session(asked);
    const body = this.#older.notices(NOWHERE, withoutMessage(asked), session);
    return eventsAnswer(body);
  }

  /** Answers `search_tools`. */
  async search(asked: AskedRequest, args: JsonObject | undefined): Promise<Relayed> {
    const { lists, missing } = await this.#lists(asked, 'tools/list', {});
    return resultAnswer(asked.message.id, {
      ...searchResult(args, lists),
      resultType: 'complete',
      ...missing,
    });
  }

  /** Ends a session of an older client. */
  end(asked: AskedWithout): Relayed {
    this.#older.sessions.end(this.#session(asked));
    return emptyAnswer(200);
  }

  #session({ bridge }: AskedWithout): ClientSession {
    if (bridge === undefined) throw new McpError(RPC.invalidRequest, 'Invalid request: initialize first');
    const session = this.#older.sessions.of(bridge);
    if (session !== undefined) return session;
    throw new McpError(RPC.noSession, 'Session not found: initialize again', { status: 404 });
  }

  /** As a server of 2026-07-28. */
  async #answer(asked: Asked): Promise<Relayed> {
    const { message } = asked;
    if (!isRequest(message)) return emptyAnswer(202);
    const { id, method, params = {} } = message;
    const own = { ...asked, message };
    switch (method) {
      case 'server/discover':
        return resultAnswer(id, discovered());
      case 'subscriptions/listen':
        return eventsAnswer(this.#listen(own));
      case 'tools/call':
      case 'prompts/get':
        return this.#routed(own, params, 'name', namedBy(textOf(params.name, 'name')));
      case 'resources/read':
        return this.#routed(own, params, 'uri', uriNamedBy(textOf(params.uri, 'uri')));
      case 'completion/complete':
        return this.#completed(own, params);
      case 'tasks/get':
      case 'tasks/update':
      case 'tasks/cancel':
        return this.#ofTask(own, params);
      default:
        if (Object.hasOwn(LISTS, method)) return this.#list(own);
        throw new McpError(RPC.methodNotFound, `Method not found: ${method.slice(0, 200)}`, {
          id,
          status: 404,
        });
    }
  }

  async #list(asked: AskedRequest): Promise<Relayed> {
    const { id, method, params } = asked.message;
    if (params?.cursor !== undefined)
      throw new McpError(RPC.invalidParams, 'Invalid params: cursor is not known: lists have one page', {
        id,
      });
    const { member } = LISTS[method]!;
    if (method === 'tools/list' && asked.searchesTools)
      return resultAnswer(id, { tools: SEARCH_LIST, ...cached() });
    const { lists, missing } = await this.#lists(asked, method, params);
    return resultAnswer(id, { [member]: lists, ...cached(), ...missing });
  }

  /** One list of all servers; of those that are away it is told that they are missing. */
  async #lists(asked: AskedRequest, method: string, params: JsonObject | undefined) {
    const { member } = LISTS[method]!;
    const message: RpcRequest = { ...asked.message, method, ...(params === undefined ? {} : { params }) };
    const meta = metaOf(asked.message);
    const own = { ...asked, message: { ...message, params: { ...params, ...(meta && { _meta: meta }) } } };
    const lists = await Promise.all(
      this.servers(asked.principal).map((server) =>
        wholeList({ server, signal: asked.signal }, member, (signal, cursor) =>
          this.#send({ ...own, signal }, server, cursor === undefined ? {} : { cursor }),
        ),
      ),
    );
    const missing = lists.flatMap((list) => list.missing ?? []);
    return {
      lists: lists.flatMap(({ slug, items }) => items.map((item) => itemAt(slug, item))),
      missing: missing.length === 0 ? {} : { _meta: { [UNAVAILABLE]: missing } },
    };
  }

  #listen(asked: AskedRequest): AsyncGenerator<Frame, void> {
    const deps = {
      servers: () => this.servers(asked.principal),
      onChanged: this.#deps.replica.onChanged.bind(this.#deps.replica),
      listen: (server: McpServer, notifications: JsonObject, signal: Asked['signal']) =>
        this.#send({ ...asked, signal }, server, { notifications }),
    };
    return mergedNotices(deps, asked.message, asked.signal);
  }

  async #completed(asked: AskedRequest, params: JsonObject): Promise<Relayed> {
    const ref = isObject(params.ref) ? params.ref : {};
    const field = ref.type === 'ref/resource' ? 'uri' : 'name';
    const text = textOf(ref[field], `ref.${field}`);
    const named = field === 'uri' ? uriNamedBy(text) : namedBy(text);
    const server = this.#server(asked.principal, named);
    if (server === undefined || named === undefined) throw unknown(text);
    return this.#send(asked, server, { ...params, ref: { ...ref, [field]: named.name } });
  }

  async #routed(
    asked: AskedRequest,
    params: JsonObject,
    field: 'name' | 'uri',
    named: Named | undefined,
  ): Promise<Relayed> {
    const server = this.#server(asked.principal, named);
    if (server === undefined || named === undefined) throw unknown(String(params[field]));
    const got = await this.#send(asked, server, { ...params, [field]: named.name });
    return renamed(got, server.slug);
  }

  async #ofTask(asked: AskedRequest, params: JsonObject): Promise<Relayed> {
    const { principal, message } = asked;
    const named = namedBy(textOf(params.taskId, 'taskId'));
    const server = this.#server(principal, named);
    if (!declaresTasks(message)) throw tasksNotDeclared(message.id, message.method);
    if (named === undefined || server === undefined) throw unknownTask();
    const there = { ...message, params: { ...params, taskId: named.name } };
    const opened = withServerTasks(there, this.#deps.tasks.of(server.id, principal), server);
    const own = { ...params, taskId: opened.named };
    const got = await this.#send({ ...asked, tasks: opened.tasks }, server, own);
    return renamed(got, server.slug);
  }

  /** To one server, with the headers that its revision asks for. */
  #send(asked: AskedRequest, server: McpServer, params: JsonObject): Promise<Relayed> {
    const { method } = asked.message;
    const meta = metaOf(asked.message);
    const message: RpcRequest = {
      ...asked.message,
      params: { ...params, ...(meta === undefined ? {} : { _meta: meta }) },
    };
    checkVisible(server, message);
    const tool = method === 'tools/call' ? params.name : undefined;
    const schema = server.capabilities.find((one) => one.type === 'tool' && one.name === tool)?.described;
    const given = Object.entries(asked.headers.raw).filter(([name]) => !name.startsWith('mcp-'));
    const raw = {
      ...Object.fromEntries(given),
      accept: 'application/json, text/event-stream',
      ...modernHeaders(method, params, schema?.inputSchema),
    };
    return this.#deps.forward({
      server,
      principal: asked.principal,
      headers: new GatewayHeaders(asked.headers.names, raw),
      era: 'modern',
      message,
      text: JSON.stringify(message),
      session: undefined,
      signal: asked.signal,
      ...(asked.call === undefined ? {} : { call: asked.call }),
      ...(asked.tasks === undefined ? {} : { tasks: asked.tasks }),
    });
  }

  #server(
    { organisationId, workspaceId, userId }: Principal,
    named: Named | undefined,
  ): McpServer | undefined {
    if (named === undefined || workspaceId === undefined) return undefined;
    const server = this.#deps.replica.serverBySlug(organisationId, workspaceId, named.slug);
    return server?.allowsUser(userId) ? server : undefined;
  }
}

function textOf(value: unknown, field: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= 8192) return value;
  throw new McpError(RPC.invalidParams, `Invalid params: ${field} must be a text of 1 to 8192 characters`);
}

function unknown(text: string) {
  return fail('not_found', `Not found: ${text.slice(0, 200)}`);
}

function cached(): JsonObject {
  return { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
}

function discovered(): JsonObject {
  const told = { listChanged: true };
  const resources = { subscribe: true, ...told };
  const extensions = { [TASKS]: {} };
  const capabilities = { tools: told, prompts: told, resources, completions: {}, extensions };
  return {
    supportedVersions: MODERN_VERSIONS,
    capabilities,
    ...cached(),
    _meta: { [META.serverInfo]: INFO },
  };
}

/** The answer with names of resources as they are here. */
function renamed(got: Relayed, slug: string): Relayed {
  const { body, response } = got;
  if (body === undefined) return got;
  if (typeof body !== 'string') return { ...got, body: renamedFrames(got, slug) };
  const result = response?.result && resultAt(slug, response.result);
  if (response === undefined || result === undefined || result === response.result) return got;
  const own = { ...response, result };
  return { ...got, body: JSON.stringify(own), response: own };
}

async function* renamedFrames(got: Relayed, slug: string): AsyncGenerator<Frame, void> {
  for await (const frame of framesOf(got)) {
    const result = frame.response?.result;
    const own = result && resultAt(slug, result);
    if (frame.response === undefined || own === result || own === undefined) yield frame;
    else {
      const response = { ...frame.response, result: own };
      yield { ...frame, data: JSON.stringify(response), response };
    }
  }
}
