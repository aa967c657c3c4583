// What a server of 2025-11-25 asks for its tasks: it asks within the stream of `tasks/result`, which is held open here for
// a client that looks at its task from time to time (2026-07-28) and answers by `tasks/update`.
import { randomBytes } from 'node:crypto';
import { Aborter } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import { MergedFrames } from '../notices/merged-frames.ts';
import type { Relayed } from '../relay/asked.ts';
import { withoutRelatedTask } from '../tasks/task-shapes.ts';
import {
  isObject,
  type JsonObject,
  type RequestId,
  type RpcRequest,
  type RpcResponse,
} from '../wire/json-rpc.ts';
import { RPC } from '../wire/mcp-error.ts';
import { framesOf } from './bridge-deps.ts';
import type { UpstreamSession } from './upstream-sessions.ts';

/** How one task is asked for its result, and how its questions are answered. */
export interface TaskQuestionsDeps {
  readonly session: UpstreamSession;
  /** The task's id as the caller has it. */
  readonly task: string;
  readonly open: (signal: Aborter) => Promise<Relayed>;
  readonly tell: (answer: RpcResponse) => Promise<void>;
  /** Whether the client has declared what a question needs. */
  readonly declares: (question: RpcRequest) => boolean;
}

interface Question {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
}

/** How long a look at a task waits for the first question. */
const FIRST_QUESTION_MS = 2000;
const MOST_QUESTIONS = 200;

export class TaskQuestions {
  readonly #deps: TaskQuestionsDeps;
  readonly #aborter = new Aborter();
  readonly #asked = new Map<string, Question>();
  /** Keys are not used again in the life of a task, also where its stream is opened again. */
  readonly #prefix = randomBytes(6).toString('hex');
  #count = 0;
  #news = Promise.withResolvers<void>();
  /** What the task has led to. */
  response: RpcResponse | undefined;
  /** The stream has ended. */
  isOver = false;

  constructor(deps: TaskQuestionsDeps) {
    this.#deps = deps;
    void this.#read();
  }

  /** What waits for an answer, as `inputRequests`; soon, where nothing has been asked yet. */
  async waiting(): Promise<JsonObject> {
    if (this.#asked.size === 0 && !this.isOver) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, FIRST_QUESTION_MS);
      });
      await Promise.race([this.#news.promise, late]);
      clearTimeout(timer);
    }
    return Object.fromEntries(
      [...this.#asked].map(([key, { method, params }]) => [key, { method, params }] as const),
    );
  }

  /** Answers of the client; what was not asked, or was answered before, is passed over. */
  async answer(given: JsonObject): Promise<void> {
    for (const [key, question] of [...this.#asked]) {
      const result = given[key];
      if (!isObject(result) || !this.#asked.delete(key)) continue;
      await this.#deps.tell({ jsonrpc: '2.0', id: question.id, result });
    }
    if (this.#asked.size === 0) this.#news = Promise.withResolvers<void>();
  }

  close(): void {
    this.#aborter.abort(fail('client_closed', 'the task is not looked at any more'));
  }

  async #read(): Promise<void> {
    const { session, task, open } = this.#deps;
    const frames = new MergedFrames(opened(() => open(this.#aborter)));
    const left = (): void => frames.fail(this.#aborter.reason);
    this.#aborter.addEventListener('abort', left);
    const leave = session.stream.attend({
      progressToken: undefined,
      task,
      take: (message) => {
        if ('id' in message) frames.add({ data: JSON.stringify(message), request: message });
      },
    });
    try {
      for await (const { response, request } of frames) {
        if (request !== undefined) await this.#question(request);
        if (response === undefined) continue;
        this.response = response;
        break;
      }
    } catch {
      // The next look at the task tells what has become of it.
    } finally {
      leave();
      this.isOver = true;
      this.#asked.clear();
      this.#news.resolve();
    }
  }

  async #question(request: RpcRequest): Promise<void> {
    const { id, method, params = {} } = request;
    const { tell, declares } = this.#deps;
    if (method === 'ping') return tell({ jsonrpc: '2.0', id, result: {} });
    if (!declares(request) || this.#count >= MOST_QUESTIONS) {
      const error = { code: RPC.methodNotFound, message: `the client does not answer ${method}` };
      return tell({ jsonrpc: '2.0', id, error });
    }
    this.#asked.set(`${this.#prefix}-${++this.#count}`, { id, method, params: asAsked(method, params) });
    this.#news.resolve();
  }
}

/** Without what the newer revision does not have. */
function asAsked(method: string, params: JsonObject): JsonObject {
  const { task: _task, elicitationId, ...rest } = withoutRelatedTask(params);
  return method === 'elicitation/create' || elicitationId === undefined ? rest : { ...rest, elicitationId };
}

async function* opened(open: () => Promise<Relayed>) {
  yield* framesOf(await open());
}
