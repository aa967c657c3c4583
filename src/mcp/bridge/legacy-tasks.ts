// Tasks of a client of 2025-11-25 at a server of 2026-07-28. What is one task of the extension there, a task, its result
// and its questions, is asked for one by one here.
import { randomUUID } from 'node:crypto';
import { garbage } from '../relay/answer-check.ts';
import type { Asked, AskedRequest, Relayed } from '../relay/asked.ts';
import { TASKS } from '../tasks/asked-tasks.ts';
import {
  isOver,
  isTask,
  legacyTask,
  pollMs,
  withoutRelatedTask,
  withRelatedTask,
} from '../tasks/task-shapes.ts';
import type { Target } from '../upstream/target.ts';
import { isObject, type JsonObject, type RpcRequest, type RpcResponse } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import type { Frame } from '../wire/sse-frames.ts';
import { type BridgeDeps, eventOf, framesOf } from './bridge-deps.ts';
import type { ClientSession } from './client-session.ts';
import { FinishedTasks } from './finished-tasks.ts';
import { legacyQuestion, questionsOf } from './legacy-questions.ts';
import { pause } from './pause.ts';

export interface LegacyTasksDeps {
  readonly tasks: BridgeDeps['tasks'];
  /** Sends a request of the newer revision, with the extension declared. */
  readonly send: (
    target: Target,
    asked: Asked,
    session: ClientSession,
    method: string,
    params: JsonObject,
  ) => Promise<Relayed>;
  /** The client's answer to what it is asked under an id. */
  readonly answer: (session: ClientSession, id: string, asked: Asked) => Promise<JsonObject>;
}

/** The revision that has tasks. */
const VERSION = '2025-11-25';
/** What asks are told that the task is cancelled, where the server does not cancel at once. */
const CANCEL_LOOKS = 10;
/** Tasks of all sessions whose changes are told. */
const MOST_TOLD = 2000;

export class LegacyTasks {
  readonly #deps: LegacyTasksDeps;
  readonly #finished = new FinishedTasks();
  #told = 0;

  constructor(deps: LegacyTasksDeps) {
    this.#deps = deps;
  }

  /** Whether a session has tasks: both sides speak of them. */
  static has({ version, tasks }: Pick<ClientSession, 'version' | 'tasks'>): boolean {
    return version === VERSION && tasks === true;
  }

  /** Whether a call asks for a task. @throws McpError */
  static isAsked({ method, params, id }: RpcRequest, session: ClientSession): boolean {
    if (method !== 'tools/call' || params?.task === undefined || !LegacyTasks.has(session)) return false;
    if (isObject(params.task)) return true;
    throw new McpError(RPC.invalidParams, 'Invalid params: task must be an object', { id, status: 200 });
  }

  /** The response to a tool call. @param isAsked the call asks for a task */
  called(response: RpcResponse, asked: AskedRequest, session: ClientSession, isAsked: boolean): RpcResponse {
    const { result, error } = response;
    const { id, params = {} } = asked.message;
    if (!isAsked && error?.code === RPC.missingCapability && needsTasks(error.data)) {
      const message = `Method not found: the tool ${String(params.name).slice(0, 200)} is called as a task only`;
      return { jsonrpc: '2.0', id, error: { code: RPC.methodNotFound, message } };
    }
    if (result?.resultType === 'task') {
      if (!isAsked || !isTask(result)) throw garbage('answered with a task that was not asked for');
      const { _meta } = result;
      session.tellTask?.(String(result.taskId));
      const task = legacyTask(result);
      return { jsonrpc: '2.0', id, result: { task, ...(isObject(_meta) ? { _meta } : {}) } };
    }
    if (!isAsked || result === undefined) return response;
    const tasks = this.#deps.tasks.of(asked.server.id, asked.principal);
    const shown = tasks.seal(`finished-${randomUUID()}`, String(params.name));
    if (shown === undefined) return response;
    const task = this.#finished.keep(shown, result, params.task);
    return { jsonrpc: '2.0', id, result: { task } };
  }

  /** The messages that answer `tasks/…`. @throws GatewayError, McpError */
  async *frames(target: Target, asked: AskedRequest, session: ClientSession): AsyncGenerator<Frame, void> {
    const { id, method, params = {} } = asked.message;
    if (!LegacyTasks.has(session) || !['tasks/get', 'tasks/result', 'tasks/cancel'].includes(method)) {
      const why = method === 'tasks/list' ? 'servers of 2026-07-28 do not list tasks' : 'there are no tasks';
      throw new McpError(RPC.methodNotFound, `Method not found: ${method.slice(0, 64)}: ${why}`, refused(id));
    }
    if (typeof params.taskId !== 'string' || params.taskId === '')
      throw new McpError(RPC.invalidParams, 'Invalid params: taskId must be the id of a task', refused(id));
    const shown = asked.tasks?.[0]?.shown ?? params.taskId;
    const done = this.#finished.of(shown);
    if (done !== undefined) {
      yield eventOf(finishedResponse(asked.message, done));
      return;
    }
    const own = { target, asked, session, taskId: params.taskId };
    if (method === 'tasks/get') yield eventOf(response(id, legacyTask(await this.#look(own))));
    else if (method === 'tasks/cancel') yield eventOf(response(id, legacyTask(await this.#cancel(own))));
    else yield* this.#result(own, shown);
  }

  /** Tells of each change of a task on the stream of notices, until it is over or that ends. Never rejects. */
  async told(
    target: Target,
    asked: Asked,
    session: ClientSession,
    shown: string,
    add: (frame: Frame) => void,
  ): Promise<void> {
    const ref = this.#deps.tasks.of(asked.server.id, asked.principal).open(shown);
    if (ref === undefined || this.#told >= MOST_TOLD) return;
    this.#told++;
    try {
      const tasks = [{ ...ref, shown }];
      const notifications = { taskIds: [ref.id] };
      const own = { ...asked, tasks };
      const answer = await this.#deps.send(target, own, session, 'subscriptions/listen', { notifications });
      for await (const { response: end, data = '' } of framesOf(answer)) {
        const { method, params } = (data === '' ? {} : JSON.parse(data)) as Partial<RpcRequest>;
        if (end !== undefined) return;
        if (method !== 'notifications/tasks' || !isTask(params)) continue;
        add(eventOf({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: legacyTask(params) }));
        if (isOver(params)) return;
      }
    } catch {
      // Clients look at their tasks themselves, too.
    } finally {
      this.#told--;
    }
  }

  async *#result(own: Own, shown: string): AsyncGenerator<Frame, void> {
    const { asked, session } = own;
    const { id } = asked.message;
    const answered = new Set<string>();
    for (;;) {
      const task = await this.#look(own);
      if (isOver(task)) {
        yield eventOf(outcome(id, task, shown));
        return;
      }
      const open = Object.entries(questionsOf(task)).filter(([key]) => !answered.has(key));
      for (const [key, question] of open) {
        const theirs = randomUUID();
        const waits = this.#deps.answer(session, theirs, asked);
        // Also where the stream has ended before it is waited for.
        waits.catch(() => {});
        const { method, params } = legacyQuestion(question, theirs);
        yield eventOf({ jsonrpc: '2.0', id: theirs, method, params: withRelatedTask(params, shown) });
        const inputResponses = { [key]: withoutRelatedTask(await waits) };
        answered.add(key);
        await this.#ask(own, 'tasks/update', { inputResponses });
      }
      if (open.length === 0) await pause(pollMs(task), asked.signal);
    }
  }

  /** A task that is over cannot be cancelled; one that the server does not cancel at once is told as it is. */
  async #cancel(own: Own): Promise<JsonObject> {
    const { id } = own.asked.message;
    let task = await this.#look(own);
    if (isOver(task))
      throw new McpError(
        RPC.invalidParams,
        `Invalid params: the task is ${String(task.status)} already`,
        refused(id),
      );
    await this.#ask(own, 'tasks/cancel', {});
    for (let look = 0; look < CANCEL_LOOKS; look++) {
      task = await this.#look(own);
      if (isOver(task)) break;
      await pause(Math.min(pollMs(task), 200), own.asked.signal);
    }
    return task;
  }

  async #look(own: Own): Promise<JsonObject> {
    const task = await this.#ask(own, 'tasks/get', {});
    if (!isTask(task)) throw garbage('answered with what is no task');
    return task;
  }

  async #ask(own: Own, method: string, params: JsonObject): Promise<JsonObject> {
    const { target, asked, session, taskId } = own;
    const answer = await this.#deps.send(target, asked, session, method, { taskId, ...params });
    for await (const { response: said } of framesOf(answer)) {
      if (said === undefined) continue;
      const { result, error } = said;
      if (result !== undefined) return result;
      const { code = RPC.internal, message = '', data } = error ?? {};
      throw new McpError(code, message, { ...refused(asked.message.id), data });
    }
    throw garbage('did not answer the request');
  }
}

interface Own {
  readonly target: Target;
  readonly asked: AskedRequest;
  readonly session: ClientSession;
  /** As the server knows it. */
  readonly taskId: string;
}

/** Older clients take errors of the protocol with the status 200. */
function refused(id: RpcRequest['id']) {
  return { id, status: 200 } as const;
}

function response(id: RpcRequest['id'], result: JsonObject): RpcResponse {
  return { jsonrpc: '2.0', id, result };
}

function finishedResponse(
  { id, method }: RpcRequest,
  { task, result }: { readonly task: JsonObject; readonly result: JsonObject },
): RpcResponse {
  if (method === 'tasks/get') return response(id, task);
  if (method === 'tasks/result') return response(id, withRelatedTask(result, task.taskId));
  const error = { code: RPC.invalidParams, message: 'Invalid params: the task is over already' };
  return { jsonrpc: '2.0', id, error };
}

/** What the call itself would have been answered with. */
function outcome(id: RpcRequest['id'], task: JsonObject, shown: string): RpcResponse {
  const { status, result, error } = task;
  if (status === 'completed' && isObject(result)) {
    const { resultType: _, ...rest } = result;
    return response(id, withRelatedTask(rest, shown));
  }
  if (status === 'cancelled')
    return { jsonrpc: '2.0', id, error: { code: RPC.refused, message: 'the task was cancelled' } };
  const { code, message, data } = isObject(error) ? error : {};
  const words = typeof message === 'string' ? message : 'the task failed';
  return {
    jsonrpc: '2.0',
    id,
    error: {
      code: typeof code === 'number' ? code : RPC.internal,
      message: words,
      ...(data === undefined ? {} : { data }),
    },
  };
}

function needsTasks(data: unknown): boolean {
  const needed = isObject(data) ? data.requiredCapabilities : undefined;
  const extensions = isObject(needed) ? needed.extensions : undefined;
  return isObject(extensions) && extensions[TASKS] !== undefined;
}
