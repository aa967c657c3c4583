// Tasks of a client of 2026-07-28 at a server of 2025-11-25. The server's task, its result and its questions are asked for
// one by one there, and are one task here.
import { randomUUID } from 'node:crypto';
import { Aborter } from '../../lib/abort.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import { liveSwitches } from '../live-switches.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Asked, AskedRequest } from '../relay/asked.ts';
import { Patience } from '../relay/patience.ts';
import { callerOf } from '../session-ids.ts';
import { unknownTask } from '../tasks/asked-tasks.ts';
import type { OpenedTask } from '../tasks/task-ids.ts';
import {
  declaresTasks,
  isOver,
  isTask,
  modernTask,
  pollMs,
  tasksNotDeclared,
  withoutRelatedTask,
} from '../tasks/task-shapes.ts';
import type { Target } from '../upstream/target.ts';
import { isToolCallable } from '../visibility.ts';
import { isObject, type JsonObject, type RpcRequest, type RpcResponse } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import { type BridgeDeps, framesOf } from './bridge-deps.ts';
import { declares } from './declared.ts';
import { pause } from './pause.ts';
import { TaskQuestions } from './task-questions.ts';
import type { SendInSession, UpstreamSession, UpstreamSessions } from './upstream-sessions.ts';

export interface ModernTasksDeps {
  readonly replica: BridgeDeps['replica'];
  readonly sessions: UpstreamSessions;
  readonly send: SendInSession;
}

const METHODS = new Set(['tasks/get', 'tasks/update', 'tasks/cancel']);
/** Tasks whose questions are held. */
const MOST_HELD = 2000;
/** How long a task that has asked, and is not looked at, is held. */
const HELD_MS = 900_000;
const SWEEP_MS = 60_000;

/** A task that a subscription follows. */
interface Followed {
  readonly task: OpenedTask;
  /** Gives each change, the task as it is first. Never rejects. */
  readonly each: (take: (task: JsonObject) => void) => Promise<void>;
}

interface Held {
  readonly questions: TaskQuestions;
  usedAt: number;
}

export class ModernTasks {
  readonly #deps: ModernTasksDeps;
  readonly #held = new Map<string, Held>();
  /** Results that came on a stream that had asked: not each server gives them twice. */
  readonly #results = new LruCache<RpcResponse>(MOST_HELD);
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ModernTasksDeps) {
    this.#deps = deps;
  }

  static has(method: string): boolean {
    return METHODS.has(method);
  }

  /** The result of `tasks/get`, `tasks/update` and `tasks/cancel`. @throws GatewayError, McpError */
  async result(target: Target, asked: AskedRequest): Promise<JsonObject> {
    const { id, method, params = {} } = asked.message;
    if (!declaresTasks(asked.message)) throw tasksNotDeclared(id, method);
    const [task] = asked.tasks ?? [];
    if (task === undefined)
      throw new McpError(RPC.invalidParams, 'Invalid params: taskId must be the id of a task', { id });
    const session = await this.#session(target, asked, task);
    if (method === 'tasks/get')
      return { ...(await this.#look(target, asked, session, task)), resultType: 'complete' };
    if (method === 'tasks/update') await this.#update(asked, task, params.inputResponses);
    else await this.#cancel(target, asked, session, task);
    return { resultType: 'complete' };
  }

  /** The tasks of a subscription that are there. */
  async followed(target: Target, asked: AskedRequest): Promise<Followed[]> {
    const all = await Promise.all(
      (asked.tasks ?? []).map(async (task) => {
        const changes = this.#changes(target, asked, task);
        const first = await changes.next().catch(() => undefined);
        return first === undefined || first.done ? [] : [{ task, first: first.value, changes }];
      }),
    );
    return all.flat().map(({ task, first, changes }) => ({
      task,
      each: async (take) => {
        take(first);
        try {
          for await (const now of changes) take(now);
        } catch {
          // The client looks for itself at what cannot be followed any more.
        }
      },
    }));
  }

  /** Each change of a task until it is over, or the signal ends it. The first is the task as it is now. */
  async *#changes(target: Target, asked: AskedRequest, task: OpenedTask): AsyncGenerator<JsonObject, void> {
    const session = await this.#session(target, asked, task);
    let last = '';
    for (;;) {
      const now = await this.#look(target, asked, session, task);
      const text = JSON.stringify(now);
      if (text !== last) yield now;
      last = text;
      if (isOver(now)) return;
      await pause(pollMs(now), asked.signal);
    }
  }

  close(): void {
    for (const key of [...this.#held.keys()]) this.#drop(key);
  }

  #session(target: Target, asked: AskedRequest, { session }: OpenedTask): Promise<UpstreamSession> {
    return session === undefined
      ? this.#deps.sessions.of(target, asked)
      : this.#deps.sessions.withId(target, asked, session);
  }

  /** A task with what it has led to, or what it asks. */
  async #look(
    target: Target,
    asked: AskedRequest,
    session: UpstreamSession,
    task: OpenedTask,
  ): Promise<JsonObject> {
    const { id } = asked.message;
    const { result, error } = await this.#ask(target, asked, session, 'tasks/get', task);
    if (error !== undefined)
      throw new McpError(error.code, error.message, { id, status: 200, data: error.data });
    if (!isTask(result)) throw garbage('answered with what is no task');
    const key = keyOf(asked, task);
    const held = this.#held.get(key);
    if (held !== undefined) held.usedAt = Date.now();
    const now = modernTask(result);
    const { status } = now;
    if (status === 'cancelled' || status === 'working') {
      if (status === 'cancelled') this.#drop(key);
      return now;
    }
    if (status !== 'input_required') return this.#outcome(target, asked, session, task, now);
    const { questions } = this.#holding(target, asked, session, task, key);
    const inputRequests = await questions.waiting();
    if (questions.response !== undefined) return this.#outcome(target, asked, session, task, now);
    // What the server needs may not be here yet.
    if (Object.keys(inputRequests).length === 0) return { ...now, status: 'working' };
    return { ...now, inputRequests };
  }

  /** A task that is over: a result of a tool that fails is a result, and an error of the protocol is none. */
  async #outcome(
    target: Target,
    asked: AskedRequest,
    session: UpstreamSession,
    task: OpenedTask,
    now: JsonObject,
  ): Promise<JsonObject> {
    const key = keyOf(asked, task);
    const kept = this.#held.get(key)?.questions.response ?? this.#results.get(key);
    const response = kept ?? (await this.#ask(target, asked, session, 'tasks/result', task));
    this.#drop(key);
    if (kept !== undefined) this.#results.set(key, kept);
    if (!isToolCallable(liveSwitches(this.#deps.replica, asked.server, asked.principal), task.tool))
      throw unknownTask();
    const { result, error } = response;
    if (error !== undefined) return { ...now, status: 'failed', error };
    return { ...now, status: 'completed', result: withoutRelatedTask(result ?? {}) };
  }

  async #update(asked: AskedRequest, task: OpenedTask, given: unknown): Promise<void> {
    if (!isObject(given))
      throw new McpError(RPC.invalidParams, 'Invalid params: inputResponses must be an object', {
        id: asked.message.id,
      });
    const held = this.#held.get(keyOf(asked, task));
    if (held === undefined) return;
    held.usedAt = Date.now();
    await held.questions.answer(given);
  }

  /** Also of a task that is over, and where the server cannot: it is a wish. */
  async #cancel(
    target: Target,
    asked: AskedRequest,
    session: UpstreamSession,
    task: OpenedTask,
  ): Promise<void> {
    const { id } = asked.message;
    const { error } = await this.#ask(target, asked, session, 'tasks/cancel', task);
    if (error !== undefined) {
      const known = await this.#ask(target, asked, session, 'tasks/get', task);
      if (!isTask(known.result)) throw new McpError(error.code, error.message, { id, status: 200 });
      return;
    }
    this.#drop(keyOf(asked, task));
  }

  async #ask(
    target: Target,
    asked: AskedRequest,
    session: UpstreamSession,
    method: string,
    task: OpenedTask,
  ): Promise<RpcResponse> {
    const params = { taskId: task.id };
    const message: RpcRequest = { jsonrpc: '2.0', id: randomUUID(), method, params };
    const answer = await this.#deps.send(target, { ...asked, tasks: [task] }, session, message);
    if (answer.isForgotten) {
      this.#deps.sessions.forget(session);
      throw unknownTask();
    }
    for await (const { response } of framesOf(answer)) if (response !== undefined) return response;
    throw garbage('did not answer the request');
  }

  #holding(
    target: Target,
    asked: AskedRequest,
    session: UpstreamSession,
    task: OpenedTask,
    key: string,
  ): Held {
    const known = this.#held.get(key);
    // A stream that ended without the result is opened again.
    if (known !== undefined && !(known.questions.isOver && known.questions.response === undefined)) {
      known.usedAt = Date.now();
      return known;
    }
    const message: RpcRequest = {
      jsonrpc: '2.0',
      id: randomUUID(),
      method: 'tasks/result',
      params: { taskId: task.id },
    };
    const patience = new Patience();
    patience.asked();
    const questions = new TaskQuestions({
      session,
      task: task.shown,
      open: (signal) =>
        this.#deps.send(target, { ...asked, signal, patience, tasks: [task] }, session, message),
      tell: async (answer) => {
        // The look that opened the stream is over by then.
        await this.#deps.send(target, { ...asked, signal: new Aborter() }, session, answer);
      },
      declares: (question) => declares(asked, question, true),
    });
    const held = { questions, usedAt: Date.now() };
    const [first] = this.#held.size >= MOST_HELD ? this.#held.keys() : [];
    if (first !== undefined) this.#drop(first);
    this.#held.set(key, held);
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    return held;
  }

  #drop(key: string): void {
    this.#held.get(key)?.questions.close();
    this.#held.delete(key);
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const now = Date.now();
    for (const [key, { usedAt }] of [...this.#held]) if (now - usedAt >= HELD_MS) this.#drop(key);
  }
}

function keyOf({ server, principal }: Asked, { id, session }: OpenedTask): string {
  return JSON.stringify([server.id, callerOf(principal), id, session ?? null]);
}
