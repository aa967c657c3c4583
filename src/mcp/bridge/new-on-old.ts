// A client of 2026-07-28 at a server of an older revision: a session is held for it, and what the server asks of the
// client becomes `input_required`; the exchange waits here until the client comes again with its answers.
import { randomBytes, randomUUID } from 'node:crypto';
import { Aborter } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import { MergedFrames } from '../notices/merged-frames.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Asked } from '../relay/asked.ts';
import { Patience } from '../relay/patience.ts';
import { EVENT_HEADERS, type Relayed } from '../relay/relay.ts';
import { callerOf } from '../session-ids.ts';
import { TASKS } from '../tasks/asked-tasks.ts';
import { declaresTasks, isTask, makesTasks, modernTask, tasksNotDeclared } from '../tasks/task-shapes.ts';
import type { Target } from '../upstream/target.ts';
import { META, MODERN_VERSIONS, metaOf } from '../wire/eras.ts';
import {
  isObject,
  isRequest,
  type JsonObject,
  type RequestId,
  type RpcRequest,
  type RpcResponse,
} from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import type { Frame } from '../wire/sse-frames.ts';
import { type BridgeDeps, eventOf, framesOf, sendAcross } from './bridge-deps.ts';
import { declares, neededFor } from './declared.ts';
import { ModernTasks } from './modern-tasks.ts';
import { type UpstreamSession, UpstreamSessions } from './upstream-sessions.ts';
import { checkUrlAnswers, withUrlQuestions } from './url-questions.ts';

type AskedRequest = Asked & { readonly message: RpcRequest };

/** An exchange that waits for the client's answers. */
interface Held {
  readonly owner: string;
  readonly session: UpstreamSession;
  readonly frames: MergedFrames;
  readonly aborter: Aborter;
  readonly patience: Patience;
  /** Takes no more of the session's stream. */
  readonly leave: () => void;
  /** Ids at the server, by the keys that the client knows. */
  readonly questions: Map<
    string,
    { readonly id: RequestId; readonly method: string; readonly params: JsonObject }
  >;
  readonly asTask: boolean;
  /** The next message, where it was waited for in vain. */
  pending: Promise<IteratorResult<Frame, void>> | undefined;
  timer: NodeJS.Timeout | undefined;
}

const HELD_MS = 900_000;
const MOST_HELD = 2000;
/** What a server asks within one request, pings among it. */
const MOST_ASKS = 200;
/** How long after one question another one is still asked with it. */
const TOGETHER_MS = 50;
/** How long it is believed what a server said of its tools and tasks. */
const SUPPORT_MS = 60_000;
/** Of a list. */
const MOST_PAGES = 20;
/** Methods that revision 2026-07-28 has not. */
const GONE = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'roots/list',
  'sampling/createMessage',
  'elicitation/create',
]);
/** Requests of revision 2026-07-28 that older servers have, too: others may be unknown to them. */
const COMMON = new Set([
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
]);
/** Of `_meta`, what older servers know, too. */
const KEPT_META = new Set(['progressToken', 'traceparent', 'tracestate', 'baggage']);
const CACHED = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'server/discover',
]);

export class NewOnOld {
  readonly #deps: BridgeDeps;
  readonly #sessions: UpstreamSessions;
  readonly #tasks: ModernTasks;
  readonly #held = new Map<string, Held>();

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
    this.#sessions = new UpstreamSessions(deps);
    this.#tasks = new ModernTasks({
      replica: deps.replica,
      sessions: this.#sessions,
      send: (target, asked, session, message) => this.#across(target, asked, session, message),
    });
  }

  async post(target: Target, asked: Asked): Promise<Relayed> {
    const { message } = asked;
    if (!isRequest(message))
      return { status: 202, headers: [], body: undefined, session: undefined, isForgotten: false };
    const { id, method, params = {} } = message;
    const isTask = ModernTasks.has(method);
    if (GONE.has(method) || (method.startsWith('tasks/') && !isTask))
      throw new McpError(RPC.methodNotFound, `Method not found: ${method} is not of this revision`, {
        id,
        status: 404,
      });
    const own = { ...asked, message };
    if (isTask) return jsonAnswer({ jsonrpc: '2.0', id, result: await this.#tasks.result(target, own) });
    if (method === 'subscriptions/listen') return this.#listen(target, own);
    if (params.requestState !== undefined) return this.#resume(target, own);
    checkUrlAnswers(message);
    return this.#begin(target, own, true);
  }

  async #begin(target: Target, asked: AskedRequest, mayRenew: boolean): Promise<Relayed> {
    const session = await this.#sessions.of(target, asked);
    const { id, method } = asked.message;
    if (method === 'server/discover') return jsonAnswer({ jsonrpc: '2.0', id, result: discovered(session) });
    await this.#setLogLevel(target, asked, session);
    const asTask = method === 'tools/call' && (await this.#isTask(target, asked, session));
    const aborter = new Aborter();
    const patience = new Patience();
    const own = { ...asked, signal: aborter, patience };
    const sent = linked(asked, aborter, () => this.#send(target, own, session, asTask));
    const frames = new MergedFrames(framesOfSent(sent));
    const asks = Promise.withResolvers<undefined>();
    const leave = session.stream.attend({
      progressToken: metaOf(asked.message)?.progressToken,
      take: (message) => {
        const data = JSON.stringify(message);
        if ('id' in message) patience.asked();
        frames.add({ event: 'message', data, ...('id' in message ? { request: message } : {}) });
        asks.resolve(undefined);
      },
    });
    try {
      // A server that answers with JSON has not begun to while it asks.
      const answer = await Promise.race([sent, asks.promise]);
      if (answer?.isForgotten && mayRenew) {
        leave();
        this.#sessions.forget(session);
        return await this.#begin(target, asked, false);
      }
      if (answer !== undefined && (typeof answer.body === 'string' || !COMMON.has(method))) {
        const response = answer.response ?? (await responseIn(frames));
        leave();
        // The revision tells an unknown method by the status, too.
        const status = response.error?.code === RPC.methodNotFound ? 404 : answer.status;
        return { ...jsonAnswer(this.#modern(response, asked, session, asTask)), status };
      }
    } catch (thrown) {
      leave();
      throw thrown;
    }
    const owner = ownerOf(asked);
    const questions: Held['questions'] = new Map();
    const held = {
      owner,
      session,
      frames,
      aborter,
      patience,
      leave,
      questions,
      asTask,
      pending: undefined,
      timer: undefined,
    };
    return eventsAnswer(this.#rounds(target, asked, held));
  }

  /** The messages up to the response, or to what the server asks. */
  async *#rounds(target: Target, asked: AskedRequest, held: Held): AsyncGenerator<Frame, void> {
    const { id } = asked.message;
    const leave = (): void => held.aborter.abort(asked.signal.reason as Error);
    asked.signal.addEventListener('abort', leave);
    const wantsLog = metaOf(asked.message)?.[META.logLevel] !== undefined;
    let isKept = false;
    let asks = 0;
    let missing: string | undefined;
    try {
      for (;;) {
        const got = await nextOf(held);
        if (got === undefined) {
          const state = this.#keep(held);
          isKept = true;
          yield eventOf({ jsonrpc: '2.0', id, result: inputRequired(held, state) });
          return;
        }
        if (got.done) throw garbage('ended its answer without a response');
        const { response, request, data = '' } = got.value;
        if (response !== undefined) {
          if (response.error !== undefined && missing !== undefined)
            throw capabilityMissing(id, missing, response.error.message);
          yield eventOf(this.#modern(response, asked, held.session, held.asTask));
          return;
        }
        if (request === undefined) {
          const isLog = data.includes('"notifications/message"');
          const isGone = /"notifications\/(?:elicitation\/complete|tasks\/status)"/.test(data);
          if (data !== '' && !isGone && (!isLog || wantsLog)) yield { event: 'message', data };
          continue;
        }
        if (++asks > MOST_ASKS) throw garbage('asks too much within one request');
        if (request.method === 'ping') {
          await this.#tell(target, asked, held.session, { jsonrpc: '2.0', id: request.id, result: {} });
          continue;
        }
        if (!declares(asked, request)) {
          const error = {
            code: RPC.methodNotFound,
            message: `the client has not declared ${request.method}`,
          };
          await this.#tell(target, asked, held.session, { jsonrpc: '2.0', id: request.id, error });
          held.patience.answered();
          missing = neededFor(request.method);
          continue;
        }
        held.questions.set(`q${held.questions.size + 1}`, {
          id: request.id,
          method: request.method,
          params: request.params ?? {},
        });
      }
    } finally {
      asked.signal.removeEventListener('abort', leave);
      if (!isKept) {
        held.leave();
        await held.frames.return();
      }
    }
  }

  async #resume(target: Target, asked: AskedRequest): Promise<Relayed> {
    const { id, params = {} } = asked.message;
    const state = typeof params.requestState === 'string' ? params.requestState : '';
    const held = this.#held.get(state);
    if (held === undefined || held.owner !== ownerOf(asked))
      throw new McpError(RPC.invalidParams, 'Invalid params: requestState is not known, or not any more', {
        id,
      });
    const given = isObject(params.inputResponses) ? params.inputResponses : {};
    const missing = [...held.questions.keys()].filter((key) => !isObject(given[key]));
    if (missing.length > 0) return jsonAnswer({ jsonrpc: '2.0', id, result: inputRequired(held, state) });
    this.#held.delete(state);
    clearTimeout(held.timer);
    for (const [key, { id: theirs }] of held.questions)
      await this.#tell(target, asked, held.session, {
        jsonrpc: '2.0',
        id: theirs,
        result: given[key] as JsonObject,
      });
    held.questions.clear();
    held.patience.answered();
    return eventsAnswer(this.#rounds(target, asked, held));
  }

  #keep(held: Held): string {
    if (this.#held.size >= MOST_HELD) {
      const [first] = this.#held.keys();
      if (first !== undefined) this.#drop(first);
    }
    const state = randomBytes(24).toString('base64url');
    held.timer = setTimeout(() => this.#drop(state), HELD_MS).unref();
    this.#held.set(state, held);
    return state;
  }

  #drop(state: string): void {
    const held = this.#held.get(state);
    this.#held.delete(state);
    clearTimeout(held?.timer);
    held?.leave();
    held?.aborter.abort(fail('request_timeout', 'the client did not answer what the server asked'));
  }

  /** Ends what waits. */
  close(): void {
    for (const state of [...this.#held.keys()]) this.#drop(state);
    this.#tasks.close();
    this.#sessions.close();
  }

  async #setLogLevel(target: Target, asked: AskedRequest, session: UpstreamSession): Promise<void> {
    const level = metaOf(asked.message)?.[META.logLevel];
    if (typeof level !== 'string' || level === session.logLevel) return;
    const { capabilities } = session.said;
    if (!isObject(capabilities) || capabilities.logging === undefined) return;
    session.logLevel = level;
    const message: RpcRequest = {
      jsonrpc: '2.0',
      id: 'level',
      method: 'logging/setLevel',
      params: { level },
    };
    for await (const _ of framesOf(await this.#across(target, asked, session, message)));
  }

  /** Whether a tool is called as a task: the server decides. @throws McpError -32021 where it must be, and cannot */
  async #isTask(target: Target, asked: AskedRequest, session: UpstreamSession): Promise<boolean> {
    if (!makesTasks(session.said.capabilities)) return false;
    const { id, params = {} } = asked.message;
    const isDeclared = declaresTasks(asked.message);
    if (session.support === undefined || (isDeclared && Date.now() - session.support.at >= SUPPORT_MS))
      session.support = { at: Date.now(), tools: this.#taskTools(target, asked, session) };
    const support = (await session.support.tools).get(String(params.name));
    if (support === 'required' && !isDeclared) throw tasksNotDeclared(id, 'this tool answers by a task, and');
    return isDeclared && (support === 'required' || support === 'optional');
  }

  /** What the server says of its tools; nothing where it does not list them. */
  async #taskTools(
    target: Target,
    asked: AskedRequest,
    session: UpstreamSession,
  ): Promise<ReadonlyMap<string, string>> {
    const tools = new Map<string, string>();
    const own = { ...asked, signal: new Aborter() };
    let cursor: unknown;
    try {
      for (let page = 0; page < MOST_PAGES; page++) {
        const params = cursor === undefined ? {} : { cursor };
        const message: RpcRequest = { jsonrpc: '2.0', id: randomUUID(), method: 'tools/list', params };
        const { result = {} } = await responseIn(
          new MergedFrames(framesOf(await this.#across(target, own, session, message))),
        );
        for (const tool of Array.isArray(result.tools) ? result.tools : [])
          if (isObject(tool) && isObject(tool.execution) && typeof tool.name === 'string')
            tools.set(tool.name, String(tool.execution.taskSupport));
        cursor = result.nextCursor;
        if (typeof cursor !== 'string') break;
      }
    } catch {
      session.support = undefined;
    }
    return tools;
  }

  #modern(
    response: RpcResponse,
    { message }: AskedRequest,
    session: UpstreamSession,
    asTask: boolean,
  ): RpcResponse {
    const task = message.method === 'tools/call' ? response.result?.task : undefined;
    if (!isTask(task)) return modernResponse(response, message);
    if (!asTask) throw garbage('answered with a task that was not asked for');
    this.#sessions.keepFor(session, task.ttl);
    const { task: _, ...rest } = response.result ?? {};
    return { jsonrpc: '2.0', id: message.id, result: { ...rest, ...modernTask(task), resultType: 'task' } };
  }

  #send(target: Target, asked: AskedRequest, session: UpstreamSession, asTask: boolean): Promise<Relayed> {
    const { method, params } = asked.message;
    // Clients share the session, and have the same ids.
    const id = randomUUID();
    const { _meta, inputResponses: _given, requestState: _state, task: _task, ...rest } = params ?? {};
    const kept = isObject(_meta)
      ? Object.entries(_meta).filter(([name, value]) => KEPT_META.has(name) && value !== undefined)
      : [];
    const meta = kept.length === 0 ? {} : { _meta: Object.fromEntries(kept) };
    const task = asTask ? { task: {} } : {};
    const own = { ...rest, ...task, ...meta };
    return this.#across(target, asked, session, { jsonrpc: '2.0', id, method, params: own });
  }

  #across(
    target: Target,
    asked: Asked,
    session: UpstreamSession,
    message: RpcRequest | RpcResponse,
  ): Promise<Relayed> {
    const headers = { 'mcp-protocol-version': session.version };
    const own = { ...asked, taskSession: session.id };
    return sendAcross(this.#deps, target, own, { message, era: 'legacy', session: session.id, headers });
  }

  async #tell(target: Target, asked: Asked, session: UpstreamSession, answer: RpcResponse): Promise<void> {
    await this.#across(target, asked, session, answer);
  }

  /** The server's own stream of notices, as the subscription that the client asked for. */
  async #listen(target: Target, asked: AskedRequest): Promise<Relayed> {
    const { params } = asked.message;
    if (!isObject(params?.notifications))
      throw new McpError(RPC.invalidParams, 'Invalid params: notifications is missing', {
        id: asked.message.id,
      });
    const { tasks = [] } = asked;
    if (tasks.length > 0 && !declaresTasks(asked.message))
      throw tasksNotDeclared(asked.message.id, 'a subscription of tasks');
    const session = await this.#sessions.of(target, asked);
    const honored = honoredOf(params.notifications, session.said.capabilities);
    return eventsAnswer(this.#notices(target, asked, session, honored));
  }

  async *#notices(
    target: Target,
    asked: AskedRequest,
    session: UpstreamSession,
    honored: JsonObject,
  ): AsyncGenerator<Frame, void> {
    const { id } = asked.message;
    const stamp = { [META.subscription]: id };
    const notice = (method: string, params: JsonObject = {}): Frame =>
      eventOf({
        jsonrpc: '2.0',
        method,
        params: { ...params, _meta: { ...(isObject(params._meta) ? params._meta : {}), ...stamp } },
      });
    const followed = await this.#tasks.followed(target, asked);
    const taskIds = followed.map(({ task }) => task.shown);
    const all = taskIds.length === 0 ? honored : { ...honored, taskIds };
    yield notice('notifications/subscriptions/acknowledged', { notifications: all });
    const frames = new MergedFrames(endless());
    for (const one of followed) void one.each((task) => frames.add(notice('notifications/tasks', task)));
    const left = (): void => frames.fail(asked.signal.reason);
    asked.signal.addEventListener('abort', left);
    if (asked.signal.aborted) left();
    const leave = session.stream.listen(({ method, params }) => {
      if (isHonored(honored, method, params)) frames.add(notice(method, params));
    });
    const uris = (honored.resourceSubscriptions ?? []) as readonly string[];
    try {
      for (const uri of uris) await this.#watch(target, asked, session, uri);
      yield* frames;
    } finally {
      leave();
      asked.signal.removeEventListener('abort', left);
      for (const uri of uris) this.#unwatch(target, asked, session, uri);
    }
  }

  /** The server is told of the first subscription of a resource in a session, and of the end of the last. */
  async #watch(target: Target, asked: Asked, session: UpstreamSession, uri: string): Promise<void> {
    const count = session.watched.get(uri) ?? 0;
    session.watched.set(uri, count + 1);
    if (count === 0) await this.#subscribed(target, asked, session, 'resources/subscribe', uri);
  }

  #unwatch(target: Target, asked: Asked, session: UpstreamSession, uri: string): void {
    const count = (session.watched.get(uri) ?? 0) - 1;
    if (count > 0) return void session.watched.set(uri, count);
    session.watched.delete(uri);
    // The subscription's own signal has ended it.
    const own = { ...asked, signal: new Aborter() };
    this.#subscribed(target, own, session, 'resources/unsubscribe', uri).catch(() => {});
  }

  async #subscribed(
    target: Target,
    asked: Asked,
    session: UpstreamSession,
    method: string,
    uri: string,
  ): Promise<void> {
    const message: RpcRequest = { jsonrpc: '2.0', id: randomUUID(), method, params: { uri } };
    for await (const _ of framesOf(await this.#across(target, asked, session, message)));
  }
}

/** The frames of an answer that has not begun yet. */
async function* framesOfSent(sent: Promise<Relayed>): AsyncGenerator<Frame, void> {
  yield* framesOf(await sent);
}

/** The next message; undefined: the server has asked something, and nothing more at the same time. */
async function nextOf(held: Held): Promise<IteratorResult<Frame, void> | undefined> {
  held.pending ??= held.frames.next();
  const { pending } = held;
  // Also where it fails while the client is asked.
  pending.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    if (held.questions.size > 0) timer = setTimeout(() => resolve(undefined), TOGETHER_MS);
  });
  try {
    const got = await (held.questions.size > 0 ? Promise.race([pending, late]) : pending);
    if (got !== undefined) held.pending = undefined;
    return got;
  } finally {
    clearTimeout(timer);
  }
}

/** The server has asked for what the client has not declared, and could not answer without (-32021). */
function capabilityMissing(id: RequestId, missing: string, why: string): McpError {
  return new McpError(
    RPC.missingCapability,
    `Missing required client capability: ${missing}: ${why.slice(0, 200)}`,
    { id, data: { requiredCapabilities: { [missing]: {} } } },
  );
}

/** A stream of nothing: what is added to it is all that it has. */
async function* endless(): AsyncGenerator<Frame, void> {
  await new Promise<never>(() => {});
}

/** What answers a request about which nothing is told before. */
async function responseIn(frames: MergedFrames): Promise<RpcResponse> {
  for await (const { response } of frames) if (response !== undefined) return response;
  throw garbage('did not answer the request');
}

const KINDS: Readonly<Record<string, string>> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
};

function isHonored(honored: JsonObject, method: string, params: JsonObject | undefined): boolean {
  const kind = KINDS[method];
  if (kind !== undefined) return honored[kind] === true;
  const uris = honored.resourceSubscriptions;
  return method === 'notifications/resources/updated' && Array.isArray(uris) && uris.includes(params?.uri);
}

function honoredOf(asked: JsonObject, capabilities: unknown): JsonObject {
  const has = (kind: string, what: string): boolean => {
    const one = isObject(capabilities) ? capabilities[kind] : undefined;
    return isObject(one) && one[what] === true;
  };
  const uris = Array.isArray(asked.resourceSubscriptions)
    ? asked.resourceSubscriptions.filter((uri) => typeof uri === 'string').slice(0, 1000)
    : [];
  return {
    ...(asked.toolsListChanged === true && has('tools', 'listChanged') ? { toolsListChanged: true } : {}),
    ...(asked.promptsListChanged === true && has('prompts', 'listChanged')
      ? { promptsListChanged: true }
      : {}),
    ...(asked.resourcesListChanged === true && has('resources', 'listChanged')
      ? { resourcesListChanged: true }
      : {}),
    ...(uris.length > 0 && has('resources', 'subscribe') ? { resourceSubscriptions: uris } : {}),
  };
}

/** The call that a state belongs to: the caller, the server, and what was asked of it. */
function ownerOf({ server, principal, message }: AskedRequest): string {
  const { name, uri } = message.params ?? {};
  return JSON.stringify([server.id, callerOf(principal), message.method, name ?? uri ?? null]);
}

function inputRequired({ questions }: Held, requestState: string): JsonObject {
  const all = [...questions].map(([key, { method, params }]) => {
    // The id of an elicitation is no more.
    const { elicitationId: _, ...rest } = params;
    return [key, { method, params: method === 'elicitation/create' ? rest : params }] as const;
  });
  return { resultType: 'input_required', inputRequests: Object.fromEntries(all), requestState };
}

function discovered({ said }: UpstreamSession): JsonObject {
  const { capabilities, instructions, serverInfo } = said;
  const { tasks: _tasks, logging, extensions, ...rest } = isObject(capabilities) ? capabilities : {};
  const others = isObject(extensions) ? extensions : {};
  const all = makesTasks(capabilities) ? { ...others, [TASKS]: {} } : others;
  return {
    resultType: 'complete',
    supportedVersions: MODERN_VERSIONS,
    capabilities: {
      ...rest,
      ...(logging === undefined ? {} : { logging }),
      ...(Object.keys(all).length === 0 ? {} : { extensions: all }),
    },
    ...(typeof instructions === 'string' ? { instructions } : {}),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [META.serverInfo]: serverInfo },
  };
}

/** With the members that revision 2026-07-28 asks for. */
function modernResponse({ result, error }: RpcResponse, message: RpcRequest): RpcResponse {
  const { id, method } = message;
  if (error !== undefined) {
    const code = error.code === RPC.resourceNotFound ? RPC.invalidParams : error.code;
    return withUrlQuestions(message, { jsonrpc: '2.0', id, error: { ...error, code } });
  }
  const cache = CACHED.has(method) ? { ttlMs: 0, cacheScope: 'private' } : {};
  return { jsonrpc: '2.0', id, result: { ...result, resultType: 'complete', ...cache } };
}

function jsonAnswer(response: RpcResponse): Relayed {
  const headers = [['content-type', 'application/json']] as const;
  return {
    status: 200,
    headers,
    body: JSON.stringify(response),
    response,
    session: undefined,
    isForgotten: false,
  };
}

function eventsAnswer(body: AsyncGenerator<Frame, void>): Relayed {
  return { status: 200, headers: EVENT_HEADERS, body, session: undefined, isForgotten: false };
}

/** Aborts with the caller while an answer has not begun. */
async function linked<T>({ signal }: Asked, aborter: Aborter, work: () => Promise<T>): Promise<T> {
  const leave = (): void => aborter.abort(signal.reason as Error);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave);
  try {
    return await work();
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
