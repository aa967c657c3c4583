// Tool calls on their way through the operation that counts, limits and logs them.
import { create } from '@bufbuild/protobuf';
import { CallToolRequestSchema, type CallToolResponse } from '../../../gen/gateway/inference/v2/mcp_pb.ts';
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import { AllServers } from '../all/all-servers.ts';
import { CALL_TOOL, calledParams, SEARCH_TOOLS } from '../all/search.ts';
import type { GatewayDeps, McpRequest } from '../gateway-deps.ts';
import type { Asked, AskedRequest, Relayed } from '../relay/asked.ts';
import { TASKS } from '../tasks/asked-tasks.ts';
import { META, metaOf } from '../wire/eras.ts';
import { isObject, isRequest, type JsonObject, type RpcMessage, type RpcRequest } from '../wire/json-rpc.ts';
import { checkParamHeaders } from '../wire/param-headers.ts';
import type { Frame } from '../wire/sse-frames.ts';
import { attachContext, frameOf, type ToolCallContext } from './call-context.ts';
import { noteCall } from './note-call.ts';

export interface CountedCallsDeps extends Pick<GatewayDeps, 'bodies' | 'callTool'> {
  readonly all: AllServers;
  /** Sends a message on. @throws GatewayError, McpError */
  readonly post: (asked: Asked) => Promise<Relayed>;
}

export interface CountedAnswer {
  /** Whose tool was called. */
  readonly server: McpServer;
  /** The call that was made, which `call_tool` may have meant. */
  readonly asked: AskedRequest;
  readonly answer: Relayed;
}

const MOST_NAME = 1024;

export class CountedCalls {
  readonly #deps: CountedCallsDeps;

  constructor(deps: CountedCallsDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError, McpError */
  async answer(call: Call, asked: AskedRequest): Promise<CountedAnswer> {
    const { message, headers } = asked;
    const { name, arguments: args } = message.params ?? {};
    if (!isToolName(name))
      throw fail('validation_failed', `Invalid params: name must be a text of 1 to ${MOST_NAME} characters`);
    const isSearched = asked.searchesTools && AllServers.isStandIn(asked.server);
    if (isSearched && name === CALL_TOOL) return this.answer(call, withCalled(asked));
    const isSearch = isSearched && name === SEARCH_TOOLS;
    const { server, tool } =
      AllServers.isStandIn(asked.server) && !isSearch
        ? this.#deps.all.toolOf(asked.principal, name)
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
          ? await this.#deps.all.search(asked, written)
          : await this.#deps.post(mayWait ? own : withoutTasks(own));
        return relayed;
      },
    };
    const messages = await this.#counted(call, message, tool, context);
    const answer = context.answer ?? { status: 202, headers: [], body: undefined };
    const body = typeof answer.body === 'string' ? await onlyText(messages) : framesIn(messages);
    return { server, asked, answer: { ...answer, body, session: relayed?.session, isForgotten: false } };
  }

  /** A tool call that was refused before it was counted: it is counted and logged, too. @returns why it is refused */
  async refused(
    { call, slug }: Pick<McpRequest, 'call' | 'slug'>,
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
    const server = this.#deps.all.standIn(principal, slug);
    const context = { server, request: message, host: '', answer: undefined, refusal: thrown, run };
    try {
      await this.#counted(call, message, message.params.name, context);
    } catch (own) {
      return own;
    }
    return thrown;
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
}

function isToolName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name.length <= MOST_NAME;
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
function withCalled(asked: AskedRequest): AskedRequest {
  const message = { ...asked.message, params: calledParams(asked.message.params ?? {}) };
  return { ...asked, message, text: JSON.stringify(message) };
}

function withArguments(asked: AskedRequest, args: JsonObject | undefined): Asked {
  const { params } = asked.message;
  const message = { ...asked.message, params: { ...(isObject(params) ? params : {}), arguments: args } };
  return { ...asked, message, text: JSON.stringify(message) };
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
