// A client of an older revision at a server of 2026-07-28: the handshake is answered here, and what the server needs of
// the client (`input_required`) is asked of it as the older revisions do, within the stream of its request.
import { randomUUID } from 'node:crypto';
import { Aborter } from '../../lib/abort.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Asked } from '../relay/asked.ts';
import { EVENT_HEADERS, type Relayed } from '../relay/relay.ts';
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

/** Rounds of questions in one request. */
const MOST_ROUNDS = 16;
/** How long a user may take for an answer, in milliseconds. */
const ANSWER_MS = 900_000;
/** Methods of the older revisions that 2026-07-28 lacks, other than those answered here. */
const NOTHING = {
  status: 202,
  headers: [],
  body: undefined,
  session: undefined,
  isForgotten: false,
} as const;

export class OldOnNew {
  readonly #deps: BridgeDeps;
  readonly sessions = new ClientSessions();

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
  }

  /** Answers `initialize`. `session` of the answer is what its id is to say. */
  async initialize(target: Target, asked: Asked & { readonly message: RpcRequest }): Promise<Relayed> {
    const { params = {}, id } = asked.message;
    const wanted = params.protocolVersion;
    const version =
      typeof wanted === 'string' && LEGACY_VERSIONS.includes(wanted) ? wanted : LEGACY_VERSIONS[0]!;
    const facts = this.sessions.begin(version, params);
    const found = await this.#whole(target, asked, facts, 'server/discover', {});
    if (found.result === undefined) throw garbage('did not say what it is');
    const { capabilities = {}, instructions, _meta } = found.result;
    const info = isObject(_meta) ? _meta[META.serverInfo] : undefined;
    const result = {
      protocolVersion: version,
      capabilities: legacyCapabilities(capabilities),
      serverInfo: isObject(info) ? info : { name: asked.server.slug, version: '0' },
      ...(typeof instructions === 'string' ? { instructions } : {}),
    };
    return { ...jsonAnswer({ jsonrpc: '2.0', id, result }), session: JSON.stringify(facts), isHeld: true };
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
    const own = this.#own(message, session);
    if (own !== undefined) return jsonAnswer({ jsonrpc: '2.0', id: message.id, result: own });
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

  async #request(
    target: Target,
    asked: Asked & { readonly message: RpcRequest },
    session: ClientSession,
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
      const first = await this.#send(target, own, session, asked.message.method, asked.message.params ?? {});
      const frames = this.#rounds(target, own, session, first, over);
      return { status: 200, headers: EVENT_HEADERS, body: frames, session: undefined, isForgotten: false };
    } catch (thrown) {
      over();
      throw thrown;
    }
  }

  /** The messages for the client: notices, questions, and the response at the end. */
  async *#rounds(
    target: Target,
    asked: Asked & { readonly message: RpcRequest },
    session: ClientSession,
    first: Relayed,
    over: () => void,
  ): AsyncGenerator<Frame, void> {
    const { id, method } = asked.message;
    let params: JsonObject = asked.message.params ?? {};
    try {
      for (let round = 0; round < MOST_ROUNDS; round++) {
        let next: JsonObject | undefined;
        const answer = round === 0 ? first : await this.#send(target, asked, session, method, params);
        for await (const frame of framesOf(answer)) {
          const { response } = frame;
          if (response === undefined) {
            yield frame;
            continue;
          }
          if (response.result?.resultType !== 'input_required') {
            yield eventOf(legacyResponse(response, id));
            return;
          }
          next = response.result;
        }
        if (next === undefined) throw garbage('ended its answer without a response');
        const inputResponses: Record<string, unknown> = {};
        for (const [key, question] of Object.entries(questionsOf(next))) {
          const own = randomUUID();
          const answered = this.#answer(session, own, asked);
          yield eventOf({ jsonrpc: '2.0', id: own, ...legacyQuestion(question, own) });
          inputResponses[key] = await answered;
        }
        params = { ...params, inputResponses, requestState: next.requestState };
      }
      throw garbage(`asked for input more than ${MOST_ROUNDS} times`);
    } finally {
      over();
    }
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
  ): Promise<Relayed> {
    const { info, capabilities, logLevel } = session;
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

  /** The stream of notices: a subscription of the newer revision, renewed when what is watched changes. */
  async *notices(target: Target, asked: Asked, session: ClientSession): AsyncGenerator<Frame, void> {
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

interface Question {
  readonly method: string;
  readonly params: JsonObject;
}

/** Elicitation in the mode `url` has an id of its own in the older revisions. */
function legacyQuestion({ method, params }: Question, elicitationId: string): Question {
  const isUrl = method === 'elicitation/create' && params.mode === 'url';
  return { method, params: isUrl ? { elicitationId, ...params } : params };
}

function questionsOf({ inputRequests }: JsonObject): Record<string, Question> {
  if (inputRequests === undefined) return {};
  if (!isObject(inputRequests)) throw garbage('asked for input in a form that is none');
  const all = Object.entries(inputRequests).map(([key, value]) => {
    if (!isObject(value) || typeof value.method !== 'string')
      throw garbage('asked for input in a form that is none');
    return [key, { method: value.method, params: isObject(value.params) ? value.params : {} }] as const;
  });
  return Object.fromEntries(all);
}

/** Without the members that older revisions do not have. */
function legacyResponse({ result, error }: RpcResponse, id: RequestId): RpcResponse {
  if (error !== undefined) return { jsonrpc: '2.0', id, error };
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest } = result ?? {};
  return { jsonrpc: '2.0', id, result: rest };
}

function legacyCapabilities(given: unknown): JsonObject {
  if (!isObject(given)) return {};
  const { extensions: _extensions, ...rest } = given;
  return rest;
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
