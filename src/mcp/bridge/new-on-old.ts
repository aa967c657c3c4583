// A client of 2026-07-28 at a server of an older revision: a session is held for it, and what the server asks of the
// client becomes `input_required`; the exchange waits here until the client comes again with its answers.
import { randomUUID } from 'node:crypto';
import { Aborter } from '../../lib/abort.ts';
import { MergedFrames } from '../notices/merged-frames.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Asked, AskedRequest, Relayed } from '../relay/asked.ts';
import { emptyAnswer, eventsAnswer, jsonAnswer, resultAnswer } from '../relay/own-answer.ts';
import { Patience } from '../relay/patience.ts';
import { callerOf } from '../session-ids.ts';
import { isTask, modernTask } from '../tasks/task-shapes.ts';
import type { Target } from '../upstream/target.ts';
import { META, metaOf } from '../wire/eras.ts';
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
import { type BridgeDeps, eventOf, framesOf, responseIn, sendAcross } from './bridge-deps.ts';
import { declares, neededFor } from './declared.ts';
import { type HeldExchange, HeldExchanges, inputRequired, nextOf } from './held-exchanges.ts';
import { discovered, modernResponse } from './modern-answers.ts';
import { ModernSubscriptions } from './modern-subscriptions.ts';
import { ModernTasks } from './modern-tasks.ts';
import { isCalledAsTask } from './task-support.ts';
import { type SendInSession, type UpstreamSession, UpstreamSessions } from './upstream-sessions.ts';
import { checkUrlAnswers } from './url-questions.ts';

/** What a server asks within one request, pings among it. */
const MOST_ASKS = 200;
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

export class NewOnOld {
  readonly #deps: BridgeDeps;
  readonly #sessions: UpstreamSessions;
  readonly #tasks: ModernTasks;
  readonly #subscriptions: ModernSubscriptions;
  readonly #held = new HeldExchanges();
  /** Sends a message of the older revision in a session. */
  readonly #across: SendInSession = (target, asked, session, message) => {
    const headers = { 'mcp-protocol-version': session.version };
    const own = { ...asked, taskSession: session.id };
    return sendAcross(this.#deps, target, own, { message, era: 'legacy', session: session.id, headers });
  };

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
    this.#sessions = new UpstreamSessions(deps);
    const shared = { sessions: this.#sessions, send: this.#across };
    this.#tasks = new ModernTasks({ ...shared, replica: deps.replica });
    this.#subscriptions = new ModernSubscriptions({ ...shared, tasks: this.#tasks });
  }

  async post(target: Target, asked: Asked): Promise<Relayed> {
    const { message } = asked;
    if (!isRequest(message)) return emptyAnswer(202);
    const { id, method, params = {} } = message;
    const isTask = ModernTasks.has(method);
    if (GONE.has(method) || (method.startsWith('tasks/') && !isTask))
      throw new McpError(RPC.methodNotFound, `Method not found: ${method} is not of this revision`, {
        id,
        status: 404,
      });
    const own = { ...asked, message };
    if (isTask) return resultAnswer(id, await this.#tasks.result(target, own));
    if (method === 'subscriptions/listen') return this.#subscriptions.open(target, own);
    if (params.requestState !== undefined) return this.#resume(target, own);
    checkUrlAnswers(message);
    return this.#begin(target, own, true);
  }

  async #begin(target: Target, asked: AskedRequest, mayRenew: boolean): Promise<Relayed> {
    const session = await this.#sessions.of(target, asked);
    const { id, method } = asked.message;
    if (method === 'server/discover') return resultAnswer(id, discovered(session));
    await this.#setLogLevel(target, asked, session);
    const asTask = method === 'tools/call' && (await isCalledAsTask(this.#across, target, asked, session));
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
    const questions: HeldExchange['questions'] = new Map();
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
  async *#rounds(target: Target, asked: AskedRequest, held: HeldExchange): AsyncGenerator<Frame, void> {
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
          const state = this.#held.keep(held);
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
          await this.#across(target, asked, held.session, { jsonrpc: '2.0', id: request.id, result: {} });
          continue;
        }
        if (!declares(asked, request)) {
          const error = {
            code: RPC.methodNotFound,
            message: `the client has not declared ${request.method}`,
          };
          await this.#across(target, asked, held.session, { jsonrpc: '2.0', id: request.id, error });
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
    const held = this.#held.find(state, ownerOf(asked));
    if (held === undefined)
      throw new McpError(RPC.invalidParams, 'Invalid params: requestState is not known, or not any more', {
        id,
      });
    const given = isObject(params.inputResponses) ? params.inputResponses : {};
    const missing = [...held.questions.keys()].filter((key) => !isObject(given[key]));
    if (missing.length > 0) return resultAnswer(id, inputRequired(held, state));
    this.#held.release(state);
    for (const [key, { id: theirs }] of held.questions)
      await this.#across(target, asked, held.session, {
        jsonrpc: '2.0',
        id: theirs,
        result: given[key] as JsonObject,
      });
    held.questions.clear();
    held.patience.answered();
    return eventsAnswer(this.#rounds(target, asked, held));
  }

  /** Ends what waits. */
  close(): void {
    this.#held.close();
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
}

/** The frames of an answer that has not begun yet. */
async function* framesOfSent(sent: Promise<Relayed>): AsyncGenerator<Frame, void> {
  yield* framesOf(await sent);
}

/** The server has asked for what the client has not declared, and could not answer without (-32021). */
function capabilityMissing(id: RequestId, missing: string, why: string): McpError {
  return new McpError(
    RPC.missingCapability,
    `Missing required client capability: ${missing}: ${why.slice(0, 200)}`,
    { id, data: { requiredCapabilities: { [missing]: {} } } },
  );
}

/** The call that a state belongs to: the caller, the server, and what was asked of it. */
function ownerOf({ server, principal, message }: AskedRequest): string {
  const { name, uri } = message.params ?? {};
  return JSON.stringify([server.id, callerOf(principal), message.method, name ?? uri ?? null]);
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
