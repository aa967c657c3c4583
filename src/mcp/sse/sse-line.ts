// One connection of the HTTP+SSE transport (revision 2024-11-05): all messages of the server come on one stream, whose
// first event names the address that messages of the client are posted to.
import { Aborter, type AbortLike } from '../../lib/abort.ts';
import type { Dialer, StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { Inbox } from '../lines/inbox.ts';
import type { Line, LineTarget } from '../lines/line.ts';
import { lineEnded, Multiplexer } from '../lines/multiplexer.ts';
import { garbage, upstreamMessage } from '../relay/answer-check.ts';
import { agentOf } from '../upstream/agent.ts';
import type { RpcMessage, RpcRequest } from '../wire/json-rpc.ts';
import { type Frame, FrameReader } from '../wire/sse-frames.ts';

export interface SseDeps {
  readonly dialer: Pick<Dialer, 'stream'>;
  readonly bounds: { readonly silenceMs: number; readonly messageBytes: number };
}

/** How long the stream of a connection may be silent: each request has a bound of its own. */
const QUIET_MS = 86_400_000;
/** Of the body of an answer to a POST, which says nothing. */
const MOST_IGNORED = 65_536;
const ENCODING = ['accept-encoding', 'identity'];

export class SseLine implements Line {
  readonly address: string;
  readonly owner = undefined;
  readonly #deps: SseDeps;
  readonly #over: () => void;
  readonly #aborter = new Aborter();
  readonly #requests: Multiplexer;
  readonly #endpoint = Promise.withResolvers<string>();
  /** Headers of the newest request: with them the gateway answers a ping, and cancels. */
  #target: LineTarget;
  #isOver = false;

  /** @param over called once, when the connection has ended */
  constructor(deps: SseDeps, target: LineTarget, over: () => void) {
    this.#deps = deps;
    this.#target = target;
    this.#over = over;
    this.address = target.origin + target.path;
    this.#requests = new Multiplexer({
      messageBytes: deps.bounds.messageBytes,
      tell: (message) => this.#tell(message),
    });
    this.#endpoint.promise.catch(() => {});
  }

  get hasRequests(): boolean {
    return this.#requests.hasRequests;
  }

  get isBusy(): boolean {
    return this.#requests.isBusy;
  }

  get usedAt(): number {
    return this.#requests.usedAt;
  }

  async open(signal: AbortLike): Promise<StreamedAnswer | undefined> {
    const leave = (): void => this.close(signal.reason as GatewayError);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave);
    const { dialer, bounds } = this.#deps;
    let timer: NodeJS.Timeout | undefined;
    try {
      const { origin, path, headers } = this.#target;
      const answer = await dialer.stream({
        origin,
        path,
        method: 'GET',
        headers: [
          ...headers,
          'accept',
          'text/event-stream',
          'cache-control',
          'no-cache',
          ...ENCODING,
          ...agentOf(headers),
        ],
        body: undefined,
        signal: this.#aborter,
        headTimeoutMs: bounds.silenceMs,
        idleTimeoutMs: QUIET_MS,
      });
      const type = answer.header('content-type') ?? '';
      if (answer.status !== 200) return answer;
      if (!/^text\/event-stream\b/i.test(type)) {
        await answer.body[Symbol.asyncIterator]().return?.();
        throw garbage('opened no stream of events');
      }
      void this.#read(answer.body);
      const late = fail('upstream_timeout', 'the MCP server did not name its endpoint in time');
      timer = setTimeout(() => this.close(late), bounds.silenceMs);
      await this.#endpoint.promise;
      return undefined;
    } catch (thrown) {
      this.close(thrown as GatewayError);
      throw thrown;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    }
  }

  request(target: LineTarget, request: RpcRequest, signal: AbortLike): Promise<StreamedAnswer | Inbox> {
    return this.#requests.request(request, signal, (own) => this.post(target, own, signal));
  }

  async post(
    target: LineTarget,
    message: RpcMessage,
    signal: AbortLike,
  ): Promise<StreamedAnswer | undefined> {
    this.#requests.usedAt = Date.now();
    this.#target = target;
    const path = await this.#endpoint.promise;
    const answer = await this.#deps.dialer.stream({
      origin: target.origin,
      path,
      method: 'POST',
      headers: [
        ...target.headers,
        'content-type',
        'application/json',
        ...ENCODING,
        ...agentOf(target.headers),
      ],
      body: JSON.stringify(this.#requests.withOwnId(message)),
      signal,
      headTimeoutMs: this.#deps.bounds.silenceMs,
      idleTimeoutMs: this.#deps.bounds.silenceMs,
    });
    if (answer.status >= 300) return answer;
    void ignored(answer);
    return undefined;
  }

  listen(signal: AbortLike): Inbox {
    return this.#requests.listen(signal);
  }

  close(why: GatewayError = lineEnded()): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#endpoint.reject(why);
    this.#aborter.abort(why);
    this.#requests.close(why);
    this.#over();
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    const reader = new FrameReader(this.#deps.bounds.messageBytes);
    try {
      for await (const piece of body) for (const frame of reader.push(piece)) await this.#take(frame);
      this.close();
    } catch (thrown) {
      this.close(thrown as GatewayError);
    }
  }

  async #take({ event = 'message', data = '' }: Frame): Promise<void> {
    if (event === 'endpoint') this.#endpoint.resolve(this.#pathOf(data));
    if (event !== 'message' || data === '') return;
    this.#requests.take(await upstreamMessage(data));
  }

  /** What need not arrive. */
  #tell(message: RpcMessage): void {
    this.post(this.#target, message, this.#aborter).then(
      (refusal) => refusal && ignored(refusal),
      () => {},
    );
  }

  /** @throws GatewayError for an endpoint at another origin, which would get this one's credentials */
  #pathOf(data: string): string {
    const url = URL.canParse(data, this.address) ? new URL(data, this.address) : undefined;
    if (url === undefined || url.origin !== new URL(this.address).origin)
      throw garbage('named an endpoint of another origin');
    return url.pathname + url.search;
  }
}

/** Reads a body to its end, so that the connection can be used again. */
async function ignored({ body }: StreamedAnswer): Promise<void> {
  let bytes = 0;
  try {
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > MOST_IGNORED) return;
    }
  } catch {}
}
