// An MCP server that is a program: one process for one session of one caller, or, in 2026-07-28, for one caller.
import type { AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { StdioCommand } from '../../lib/stdio-commands.ts';
import type { Inbox } from '../lines/inbox.ts';
import type { Line, LineTarget } from '../lines/line.ts';
import { lineEnded, Multiplexer } from '../lines/multiplexer.ts';
import { garbage, upstreamMessage } from '../relay/answer-check.ts';
import type { RpcMessage, RpcRequest } from '../wire/json-rpc.ts';
import { Program } from './program.ts';

export interface StdioLineDeps {
  readonly command: StdioCommand;
  readonly messageBytes: number;
  /** What the program writes for people. */
  readonly said: (text: string, dropped: number) => void;
  /** It has ended by itself. @param hasSpoken it had sent a message before */
  readonly failed: (hasSpoken: boolean) => void;
}

export class StdioLine implements Line {
  readonly address: string;
  readonly owner: string | undefined;
  readonly #deps: StdioLineDeps;
  readonly #over: () => void;
  readonly #requests: Multiplexer;
  #program: Program | undefined;
  #isOver = false;
  #hasSpoken = false;
  isModern = false;
  /** Messages are taken in their order. */
  #reading: Promise<void> = Promise.resolve();

  /** @param over called once, when the program has ended */
  constructor(deps: StdioLineDeps, target: LineTarget, over: () => void) {
    this.#deps = deps;
    this.#over = over;
    this.address = target.origin + target.path;
    this.owner = target.owner;
    this.#requests = new Multiplexer({
      messageBytes: deps.messageBytes,
      tell: (message) => this.#program?.send(JSON.stringify(message)),
    });
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

  open(): Promise<undefined> {
    const { command, messageBytes, said, failed } = this.#deps;
    this.#program = new Program(command, messageBytes, {
      line: (text) => this.#read(text),
      said,
      broken: (what) => this.close(garbage(what)),
      ended: (why) => {
        if (this.#isOver) return;
        failed(this.#hasSpoken);
        this.close(fail('upstream_interrupted', `the MCP server is a program, and ${why}`));
      },
    });
    return Promise.resolve(undefined);
  }

  request(_: LineTarget, request: RpcRequest, signal: AbortLike): Promise<StreamedAnswer | Inbox> {
    return this.#requests.request(request, signal, (own) => this.#send(own));
  }

  post(_: LineTarget, message: RpcMessage): Promise<undefined> {
    return this.#send(this.#requests.withOwnId(message));
  }

  listen(signal: AbortLike): Inbox {
    return this.#requests.listen(signal);
  }

  close(why: GatewayError = lineEnded()): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#requests.close(why);
    this.#program?.end();
    this.#over();
  }

  async #send(message: RpcMessage): Promise<undefined> {
    if (this.#isOver) throw lineEnded();
    this.#requests.usedAt = Date.now();
    this.#program?.send(JSON.stringify(message));
  }

  #read(text: string): void {
    // Programs print what is no message there, too: it is for people.
    if (!text.trimStart().startsWith('{')) {
      this.#deps.said(text.slice(0, 2000), 0);
      return;
    }
    this.#reading = this.#reading.then(async () => {
      if (this.#isOver) return;
      this.#hasSpoken = true;
      try {
        const message = await upstreamMessage(text);
        this.isModern ||= 'result' in message && message.result?.resultType !== undefined;
        this.#requests.take(message);
      } catch (thrown) {
        this.close(thrown as GatewayError);
      }
    });
  }
}
