// Which way a request goes: relayed where its server speaks its generation, across a bridge where it does not.
import { type BridgeDeps, withoutMessage } from './bridge/bridge-deps.ts';
import type { ClientSession } from './bridge/client-session.ts';
import { EraBook } from './bridge/era-book.ts';
import { NewOnOld } from './bridge/new-on-old.ts';
import { OldOnNew } from './bridge/old-on-new.ts';
import { HandshakeRefused } from './bridge/upstream-sessions.ts';
import type { Asked, AskedWithout, Relayed } from './relay/asked.ts';
import { emptyAnswer, eventsAnswer } from './relay/own-answer.ts';
import { Patience, Patiences } from './relay/patience.ts';
import { relayDelete, relayGet, relayPost } from './relay/relay.ts';
import type { Target } from './upstream/target.ts';
import { isRequest, type RpcRequest } from './wire/json-rpc.ts';
import { McpError, RPC } from './wire/mcp-error.ts';
import type { Frame } from './wire/sse-frames.ts';

export class Ways {
  readonly #deps: BridgeDeps;
  readonly #eras: EraBook;
  readonly #newOnOld: NewOnOld;
  readonly #oldOnNew: OldOnNew;
  readonly #patiences = new Patiences();

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
    this.#eras = new EraBook(deps);
    this.#newOnOld = new NewOnOld(deps);
    this.#oldOnNew = new OldOnNew(deps);
  }

  /** @throws GatewayError, McpError when no answer has begun */
  async post(target: Target, asked: Asked): Promise<Relayed> {
    const { message, era } = asked;
    if (era === 'modern') {
      const isModern = await this.#eras.isModern(target, asked);
      return isModern ? relayPost(this.#deps, target, asked) : this.#across(target, asked);
    }
    const held = this.#held(asked);
    if (held !== undefined) return this.#oldOnNew.post(target, asked, held);
    const isFirst = isRequest(message) && message.method === 'initialize';
    if (isFirst) return this.#initialize(target, { ...asked, message });
    return relayPost(this.#deps, target, this.#patient(asked));
  }

  /** The stream of notices of a session. */
  async get(target: Target, asked: AskedWithout): Promise<Relayed> {
    const session = this.#held(asked);
    if (session === undefined) return relayGet(this.#deps, target, this.#patient(asked));
    const body = this.#oldOnNew.notices(target, withoutMessage(asked), session);
    return eventsAnswer(body);
  }

  async delete(target: Target, asked: AskedWithout): Promise<Relayed> {
    const session = this.#held(asked);
    if (session === undefined) return relayDelete(this.#deps, target, asked);
    this.#oldOnNew.sessions.end(session);
    return emptyAnswer(200);
  }

  close(): void {
    this.#newOnOld.close();
  }

  /** A server that refuses the older handshake may speak the newer revision by now. */
  async #across(target: Target, asked: Asked): Promise<Relayed> {
    try {
      return await this.#newOnOld.post(target, asked);
    } catch (thrown) {
      if (!(thrown instanceof HandshakeRefused) || !(await this.#eras.isModernNow(target, asked)))
        throw thrown;
      return relayPost(this.#deps, target, asked);
    }
  }

  /** An older client is served by an older server where there is one: the bridge is for servers that refuse it. */
  async #initialize(target: Target, asked: Asked & { readonly message: RpcRequest }): Promise<Relayed> {
    try {
      const answer = await wholeAnswer(await relayPost(this.#deps, target, asked));
      if (answer.response?.error === undefined) return answer;
      if (!(await this.#eras.isModernNow(target, asked))) return answer;
    } catch (thrown) {
      const reason = (thrown as { readonly reason?: string }).reason ?? '';
      const isRefusal = reason === 'upstream_status' || reason === 'upstream_garbage';
      if (!isRefusal || !(await this.#eras.isModern(target, asked))) throw thrown;
    }
    return this.#oldOnNew.initialize(target, asked);
  }

  /** With what is known of the questions of its session. */
  #patient<T extends AskedWithout>(asked: T): T {
    const { session, server } = asked;
    const message = (asked as Partial<Asked>).message;
    // The answer begins when the task is over.
    if (message !== undefined && isRequest(message) && message.method === 'tasks/result')
      return { ...asked, patience: waiting() };
    return session === undefined
      ? asked
      : { ...asked, patience: this.#patiences.of(`${server.id} ${session}`) };
  }

  #held({ bridge }: AskedWithout): ClientSession | undefined {
    if (bridge === undefined) return undefined;
    const session = this.#oldOnNew.sessions.of(bridge);
    if (session === undefined)
      throw new McpError(RPC.noSession, 'Session not found: initialize again', { status: 404 });
    return session;
  }
}

function waiting(): Patience {
  const patience = new Patience();
  patience.asked();
  return patience;
}

/** With its response, where it is a stream. @throws GatewayError as the stream does */
async function wholeAnswer(answer: Relayed): Promise<Relayed> {
  const { body } = answer;
  if (typeof body === 'string' || body === undefined) return answer;
  const frames: Frame[] = [];
  for await (const frame of body) frames.push(frame);
  const response = frames.at(-1)?.response;
  return { ...answer, body: again(frames), ...(response === undefined ? {} : { response }) };
}

async function* again(frames: readonly Frame[]): AsyncGenerator<Frame, void> {
  yield* frames;
}
