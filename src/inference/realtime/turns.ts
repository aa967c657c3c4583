// The responses of a session as calls of their own: each is admitted, journalled, booked and logged by itself, so that
// limits hold while a session runs, and a kill of the process loses the response under way and no other.
import type { Message } from '@bufbuild/protobuf';
import { Call } from '../../call/call.ts';
import { fail } from '../../lib/errors.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import type { UsageReport } from '../../providers/usage/report.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { type Opening, runAttempt } from '../pipeline/run-attempt.ts';
import type { Dialled } from './dial.ts';

/** Runs a call of a turn through all stages. Bound when the methods are composed. */
export interface TurnPort {
  run: ((call: Call) => Promise<AsyncIterable<Message>>) | undefined;
}

/** How a response ended; undefined usage: the session broke off. */
interface TurnEnd {
  readonly usage: UsageReport;
  readonly failed: boolean;
  readonly broken: boolean;
}

/** One response. */
export interface Turn {
  end(usage: UsageReport, failed: boolean): void;
  /** The session ended before it did. */
  break(): void;
}

/** The turns of one session. */
export class Turns {
  readonly #pipeline: Pipeline;
  readonly #port: TurnPort;
  readonly #session: Call;
  readonly #dialled: Dialled;

  constructor(pipeline: Pipeline, port: TurnPort, session: Call, dialled: Dialled) {
    this.#pipeline = pipeline;
    this.#port = port;
    this.#session = session;
    this.#dialled = dialled;
  }

  /**
   * Admits a response. @param model where another one answers than the session's
   * @throws GatewayError unauthenticated, forbidden, rate_limited, budget_exhausted, overloaded
   */
  async begin(model: string = this.#dialled.model): Promise<Turn> {
    const { run } = this.#port;
    if (run === undefined) throw fail('overloaded', 'the gateway is starting');
    let settle: (end: TurnEnd) => void = () => {};
    const over = new Promise<TurnEnd>((resolve) => {
      settle = resolve;
    });
    const call = new Call(this.#session.method, this.#session.source);
    call.traceId = this.#session.traceId;
    call.turn = { model, run: () => this.#run(call, model, over) };
    const messages = await run(call);
    void ended(messages);
    return {
      end: (usage, failed) => settle({ usage, failed, broken: false }),
      break: () => settle({ usage: undefined, failed: true, broken: true }),
    };
  }

  /** Within all stages: the attempt that the response is. */
  #run(call: Call, model: string, over: Promise<TurnEnd>): Promise<AsyncIterable<Message>> {
    const { bound, outbound } = this.#dialled;
    const opening: Opening = {
      id: timeOrderedId(),
      bound,
      outbound,
      model,
      body: 0,
      request: {},
      makesTokens: true,
      limited: true,
      estimated: false,
      tells: false,
      streams: false,
      aside: false,
      written: false,
    };
    return runAttempt(
      this.#pipeline,
      call,
      opening,
      async () => undefined,
      (_, attempt) =>
        afterwards(async () => {
          const { usage, failed, broken } = await over;
          if (broken) {
            attempt.firstToken();
            throw attempt.fail(fail('upstream_interrupted', 'the session ended before the response did'));
          }
          const outcome = failed ? 'error' : 'success';
          attempt.end({ status: 200, outcome, usage, unpriced: usage === undefined && !failed });
        }),
    );
  }
}

/** Messages that are none, and end when the work does. */
function afterwards(work: () => Promise<void>): AsyncIterable<Message> {
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        await work();
        return { done: true, value: undefined };
      },
    }),
  };
}

/** Its entry is written when its messages are over. */
async function ended(messages: AsyncIterable<Message>): Promise<void> {
  try {
    for await (const _ of messages);
  } catch {
    // It is in the log.
  }
}
