// A client of an older revision at a server of 2026-07-28: the handshake is answered here, and what the server needs of
// the client (`input_required`) is asked of it as the older revisions do, within the stream of its request.
import { randomUUID } from 'node:crypto';
import { Aborter } from '../../lib/abort.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { MergedFrames } from '../notices/merged-frames.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Asked, AskedRequest, Relayed } from '../relay/asked.ts';
import { emptyAnswer, eventsAnswer, resultAnswer } from '../relay/own-answer.ts';
import { TASKS } from '../tasks/asked-tasks.ts';
import { hasTasks } from '../tasks/task-shapes.ts';
import type { Target } from '../upstream/target.ts';
import { LEGACY_VERSIONS, META, metaOf } from '../wire/eras.ts';
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
import { type BridgeDeps, eventOf, framesOf, modernHeaders, modernMeta, sendAcross } from './bridge-deps.ts';
import { type ClientSession, ClientSessions, type SealedSession } from './client-session.ts';
import { legacyQuestion, questionsOf } from './legacy-questions.ts';
import { LegacyTasks } from './legacy-tasks.ts';

/** Rounds of questions in one request. */
const MOST_ROUNDS = 16;
/** How long a user may take for an answer, in milliseconds. */
const ANSWER_MS = 900_000;
/** Methods of the older revisions that 2026-07-28 lacks, other than those answered here. */
const NOTHING = emptyAnswer(202);

export class OldOnNew {
  readonly #deps: BridgeDeps;
  readonly sessions = new ClientSessions();
  readonly #tasks: LegacyTasks;

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
    this.#tasks = new LegacyTasks({
      tasks: deps.tasks,
      send: (target, asked, session, method, params) =>
        this.#send(target, asked, session, method, params, true),
      answer: (session, id, asked) => this.#answer(session, id, asked),
    });
  }

  /** Answers `initialize`. `session` of the answer is what its id is to say. */
  async initialize(target: Target, asked: Asked & { readonly message: RpcRequest }): Promise<Relayed> {
    const { params = {}, id } = asked.message;
    const wanted = params.protocolVersion;
    const version =
      typeof wanted === 'string' && LEGACY_VERSIONS.includes(wanted) ? wanted : LEGACY_VERSIONS[0]!;
    const begun = this.sessions.begin(version, params);
    const found = await this.#whole(target, asked, begun, 'server/discover', {});
    if (found.result === undefined) throw garbage('did not say what it is');
    const { capabilities = {}, instructions, _meta } = found.result;
    const facts: SealedSession = { ...begun, ...(hasTasks(capabilities) ? { tasks: true } : {}) };
    const info = isObject(_meta) ? _meta[META.serverInfo] : undefined;
    const result = {
      protocolVersion: version,
      capabilities: legacyCapabilities(capabilities, LegacyTasks.has(facts)),
      serverInfo: isObject(info) ? info : { name: asked.server.slug, version: '0' },
      ...(typeof instructions === 'string' ? { instructions } : {}),
    };
    return { ...resultAnswer(id, result), session: JSON.stringify(facts), isHeld: true };
  }

  /** Any message after that. */
  async post(target: Target, asked: Asked, session: ClientSession): Promise<Relayed> {
    const { message } = asked;
    if (!('method' in message)) {
      const { id } = message;
      if (id !== null) session.waiting.get(id)?.(message);
      return NOTHING;
    }
    if (!isRequest(message)) {
      const { requestId } = message.params ?? {};
      if (
        message.method === 'notifications/cancelled' &&
        (typeof requestId === 'string' || typeof requestId === 'number')
      )
        session.running.get(requestId)?.();
      return NOTHING;
    }
    if (message.method.startsWith('tasks/'))
      return this.#streamed({ ...asked, message }, session, (own) =>
        this.#tasks.frames(target, own, session),
      );
    const own = this.#own(message, session);
    if (own !== undefined) return resultAnswer(message.id, own);
    return this.#request(target, { ...asked, message }, session);
  }

  /** What is answered without the server. */
  #own({ method, params = {} }: RpcRequest, session: ClientSession): JsonObject | undefined {
    switch (method) {
      case 'ping':
        return {};
      case 'logging/setLevel':
        if (typeof params.level === 'string') session.logLevel = params.level.slice(0, 32);
        return {};
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        if (typeof params.uri !== 'string')
          throw new McpError(RPC.invalidParams, 'Invalid params: uri is missing');
        if (method === 'resources/unsubscribe') session.watched.delete(params.uri);
        else if (session.watched.size < 1000) session.watched.add(params.uri);
        session.rewatch?.();
        return {};
      default:
        return undefined;
    }
  }

  #request(target: Target, asked: AskedRequest, session: ClientSession): Promise<Relayed> {
    return this.#streamed(asked, session, async (own) => {
      const { method, params = {} } = own.message;
      const isTask = LegacyTasks.isAsked(own.message, session);
      const { task: _, ...rest } = params;
      const given = method === 'tools/call' ? rest : params;
      const first = await this.#send(target, own, session, method, given, isTask);
      return this.#rounds(target, own, session, first, given, isTask);
    });
  }

  /** The answer to a request that the client may cancel, as a stream of events. */
  async #streamed(
    asked: AskedRequest,
    session: ClientSession,
    begin: (own: AskedRequest) => AsyncIterable<Frame> | Promise<AsyncIterable<Frame>>,
  ): Promise<Relayed> {
    const { id } = asked.message;
    const aborter = new Aborter();
    const leave = (): void => aborter.abort(asked.signal.reason as Error);
    asked.signal.addEventListener('abort', leave);
    session.running.set(id, () =>
      aborter.abort(fail('client_closed', 'the client has cancelled its request')),
    );
    const over = (): void => {
      session.running.delete(id);
      asked.signal.removeEventListener('abort', leave);
    };
    const own = { ...asked, signal: aborter };
    try {
      const body = until(await begin(own), over);
      return eventsAnswer(body);
    } catch (thrown) {
      over();
      throw thrown;
    }
  }

  /** The messages for the client: notices, questions, and the response at the end. */
  async *#rounds(
    target: Target,
    asked: AskedRequest,
    session: ClientSession,
    first: Relayed,
    given: JsonObject,
    isTask: boolean,
  ): AsyncGenerator<Frame, void> {
    const { method } = asked.message;
    let params = given;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      let next: JsonObject | undefined;
      const answer = round === 0 ? first : await this.#send(target, asked, session, method, params, isTask);
      for await (const frame of framesOf(answer)) {
        const { response } = frame;
        if (response === undefined) {
          yield frame;
          continue;
        }
        if (response.result?.resultType !== 'input_required') {
          const own = this.#tasks.called(response, asked, session, isTask);
          yield eventOf(legacyResponse(own, asked.message, LegacyTasks.has(session)));
          return;
        }
        next = response.result;
      }
      if (next === undefined) throw garbage('ended its answer without a response');
      const inputResponses: Record<string, unknown> = {};
      for (const [key, question] of Object.entries(questionsOf(next))) {
        const own = randomUUID();
        const answered = this.#answer(session, own, asked);
        // Also where the stream has ended before it is waited for.
        answered.catch(() => {});
        yield eventOf({ jsonrpc: '2.0', id: own, ...legacyQuestion(question, own) });
        inputResponses[key] = await answered;
      }
      params = { ...params, inputResponses, requestState: next.requestState };
    }
    throw garbage(`asked for input more than ${MOST_ROUNDS} times`);
  }

  #answer(session: ClientSession, id: RequestId, { signal }: Asked): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        session.waiting.delete(id);
        signal.removeEventListener('abort', left);
        settle();
      };
      const left = (): void => end(() => reject(signal.reason));
      const timer = setTimeout(
        () => end(() => reject(fail('request_timeout', 'the client did not answer what the server asked'))),
        ANSWER_MS,
      );
      signal.addEventListener('abort', left);
      session.waiting.set(id, ({ result, error }) =>
        end(() => (result === undefined ? reject(refusedInput(error?.message)) : resolve(result))),
      );
    });
  }

  #send(
    target: Target,
    asked: Asked,
    session: SealedSession & { logLevel?: string | undefined },
    method: string,
    params: JsonObject,
    isTask = false,
  ): Promise<Relayed> {
    const { info, logLevel } = session;
    const capabilities = modernCapabilities(session.capabilities, isTask);
    const id = 'id' in asked.message && asked.message.id !== null ? asked.message.id : 1;
    const own = 'method' in asked.message ? metaOf(asked.message) : undefined;
    const meta = modernMeta(own, { info, capabilities, logLevel });
    const message: RpcRequest = { jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } };
    const tool =
      method === 'tools/call'
        ? asked.server.capabilities.find((one) => one.type === 'tool' && one.name === params.name)
        : undefined;
    const headers = modernHeaders(method, params, tool?.described.inputSchema);
    return sendAcross(this.#deps, target, asked, { message, era: 'modern', headers });
  }

  async #whole(
    target: Target,
    asked: Asked,
    facts: SealedSession,
    method: string,
    params: JsonObject,
  ): Promise<RpcResponse> {
    for await (const { response } of framesOf(await this.#send(target, asked, facts, method, params)))
      if (response !== undefined) return response;
    throw garbage('did not answer');
  }

  /** The stream of notices: those of the server, and of the session's tasks that begin meanwhile. */
  async *notices(target: Target, asked: Asked, session: ClientSession): AsyncGenerator<Frame, void> {
    const merged = new MergedFrames(this.#notices(target, asked, session));
    const left = (): void => merged.fail(asked.signal.reason);
    asked.signal.addEventListener('abort', left);
    session.tellTask = (shown) =>
      void this.#tasks.told(target, asked, session, shown, (frame) => merged.add(frame));
    try {
      yield* merged;
    } finally {
      session.tellTask = undefined;
      asked.signal.removeEventListener('abort', left);
    }
  }

  /** A subscription of the newer revision, renewed when what is watched changes. */
  async *#notices(target: Target, asked: Asked, session: ClientSession): AsyncGenerator<Frame, void> {
    for (;;) {
      const aborter = new Aborter();
      const leave = (): void => aborter.abort(asked.signal.reason as Error);
      asked.signal.addEventListener('abort', leave);
      let isRenewed = false;
      session.rewatch = () => {
        isRenewed = true;
        aborter.abort(fail('client_closed', 'what is watched has changed'));
      };
      try {
        const filter = {
          toolsListChanged: true,
          promptsListChanged: true,
          resourcesListChanged: true,
          resourceSubscriptions: [...session.watched],
        };
        const params = { notifications: filter };
        const answer = await this.#send(
          target,
          { ...asked, signal: aborter },
          session,
          'subscriptions/listen',
          params,
        );
        for await (const frame of framesOf(answer)) {
          if (frame.response !== undefined) break;
          if (frame.data !== undefined && !frame.data.includes('notifications/subscriptions/acknowledged'))
            yield { data: frame.data };
        }
      } catch (thrown) {
        if (asked.signal.aborted || !isRenewed) throw thrown;
      } finally {
        asked.signal.removeEventListener('abort', leave);
        session.rewatch = undefined;
      }
      if (!isRenewed) return;
    }
  }
}

function refusedInput(message: string | undefined): GatewayError {
  return fail(
    'validation_failed',
    `the client refused what the server asked: ${(message ?? '').slice(0, 200)}`,
  );
}

/** Without the members that older revisions do not have. @param hasTasks each tool may answer by a task */
function legacyResponse(
  { result, error }: RpcResponse,
  { id, method }: RpcRequest,
  hasTasks: boolean,
): RpcResponse {
  if (error !== undefined) return { jsonrpc: '2.0', id, error };
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest } = result ?? {};
  if (!hasTasks || method !== 'tools/list' || !Array.isArray(rest.tools))
    return { jsonrpc: '2.0', id, result: rest };
  return { jsonrpc: '2.0', id, result: { ...rest, tools: rest.tools.map(withTaskSupport) } };
}

function withTaskSupport(tool: unknown): unknown {
  if (!isObject(tool)) return tool;
  const execution = isObject(tool.execution) ? tool.execution : {};
  return { ...tool, execution: { ...execution, taskSupport: 'optional' } };
}

function legacyCapabilities(given: unknown, hasTasks: boolean): JsonObject {
  if (!isObject(given)) return {};
  const { extensions: _extensions, ...rest } = given;
  return hasTasks ? { ...rest, tasks: { cancel: {}, requests: { tools: { call: {} } } } } : rest;
}

/** A server answers by tasks where the extension is declared. */
function modernCapabilities(given: JsonObject, isTask: boolean): JsonObject {
  const { tasks: _tasks, extensions, ...rest } = given;
  const { [TASKS]: _, ...others } = isObject(extensions) ? extensions : {};
  const all = isTask ? { ...others, [TASKS]: {} } : others;
  return Object.keys(all).length === 0 ? rest : { ...rest, extensions: all };
}

/** Frames, and what is done when they end, however they do. */
async function* until(frames: AsyncIterable<Frame>, over: () => void): AsyncGenerator<Frame, void> {
  try {
    yield* frames;
  } finally {
    over();
  }
}
