// One attempt whose answer comes in pieces: request -> first piece -> the rest.

import type { Call } from '../../call/call.ts';
import type { OutboundRequest, StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, type GatewayError, toldAlready } from '../../lib/errors.ts';
import { BatchedIterator, Run } from '../../lib/runs.ts';
import { Turns } from '../../lib/turns.ts';
import { type AnswerReader, answerReader } from '../../providers/answer-reader.ts';
import type { Dialect, StreamingOperation, StreamTranslator, Target } from '../../providers/dialect.ts';
import type { Framing } from '../../providers/framing.ts';
import type { OperationName } from '../../providers/operations.ts';
import type { UsageReport } from '../../providers/usage/report.ts';
import { type AnswerForm, answerForm } from './answer-form.ts';
import type { Attempt } from './attempt.ts';
import { HeldSignal } from './drains.ts';
import { noteReceived } from './kept-bodies.ts';
import type { Pipeline } from './pipeline.ts';
import { type ReadAnswer, readAnswer } from './read-answer.ts';
import { readBounded } from './read-bounded.ts';
import { type Asked, operationAttempt, runAttempt } from './run-attempt.ts';
import { translationOf } from './translation.ts';
import { upstreamError } from './upstream.ts';
import { isEncoded, MAX_ANSWER_BYTES } from './whole.ts';
import { writeStreamed } from './write-request.ts';

const MAX_ERROR_BYTES = 1024 * 1024;
/** How long the upstream may take to close after it said that it is done, before its socket is closed. */
const DRAIN_MS = 1000;

/** Resolves when the answer's first piece is at hand, so that an early error keeps its status. */
export async function callStream<Request, Answer extends object, Chunk extends object>(
  pipeline: Pipeline,
  call: Call,
  asked: Asked<Request>,
  operation: StreamingOperation<Request, Answer, Chunk>,
): Promise<AsyncIterable<Chunk>> {
  const { dialer, now } = pipeline;
  const { bound, dialect, name, request, signal } = asked;
  const { target } = bound;
  const context = translationOf(call, target, now, name);
  const write = () => writeStreamed(call, operation, request, context);
  const opening = operationAttempt(pipeline, call, asked, true, write);
  const dial = (outbound: OutboundRequest) => dialer.stream(outbound);
  return runAttempt(
    pipeline,
    call,
    opening instanceof Promise ? await opening : opening,
    dial,
    async (answer, attempt) => {
      noteReceived(call, answer);
      await refuseErrors(answer, target, dialect);
      const whole = async (body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Chunk>> => {
        const bytes = await readBounded(body, MAX_ANSWER_BYTES);
        const read = await readAnswer(pipeline, call, asked, operation, bytes, context);
        return wholeAnswer(answer.status, read, attempt, name, operation, request);
      };
      // What never streams has no translator.
      if (operation.answersWhole?.(context) === true) return whole(answer.body);
      const translator = operation.stream(request, context, answer);
      const { isWhole, body } = await formOf(answer, translator);
      if (isWhole) return whole(body);
      const pieces = new Pieces(
        answer.status,
        body,
        translator,
        dialect.framing ?? 'sse',
        attempt,
        signal instanceof HeldSignal ? signal : undefined,
      );
      await pieces.fill();
      return pieces;
    },
  );
}

async function refuseErrors(answer: StreamedAnswer, target: Target, dialect: Dialect): Promise<void> {
  if (answer.status < 200 || answer.status > 299) {
    throw upstreamError(target, dialect, answer, await readBounded(answer.body, MAX_ERROR_BYTES));
  }
  if (isEncoded(answer.header('content-encoding'))) {
    await answer.body[Symbol.asyncIterator]().return?.();
    throw fail('upstream_garbage', `${target.provider.id} answered in an encoding that was not asked for`);
  }
}

/** Bytes that are no events (speech) have no form of their own: JSON among them says so by its type. */
function formOf(
  answer: StreamedAnswer,
  { take }: StreamTranslator<unknown>,
): AnswerForm | Promise<AnswerForm> {
  if (take === undefined) return answerForm(answer);
  const { body } = answer;
  return { isWhole: /^application\/json\b/i.test(answer.header('content-type') ?? ''), body };
}

/** Some providers answer a streamed request whole: the caller still gets a stream. */
function wholeAnswer<Request, Answer extends object, Chunk>(
  status: number,
  { answer: message, usage, model, tier, said, whole }: ReadAnswer<Answer>,
  attempt: Attempt,
  name: OperationName,
  operation: StreamingOperation<Request, Answer, Chunk>,
  request: Request,
): AsyncIterable<Chunk> {
  attempt.firstToken();
  if (said !== undefined) attempt.saysText(said);
  else if (typeof usage !== 'object') attempt.says(message);
  attempt.noteWhole(name, message);
  attempt.end({ status, outcome: 'success', usage, responseModel: model, tier });
  // The attempt was made and is paid for: the caller alone cannot have it.
  if (whole !== undefined) throw whole;
  const chunks = operation.wholeAsChunks(message, request);
  return (async function* () {
    yield* chunks;
  })();
}

/** The translated pieces of one answer. Owns the upstream's body: ends it when the reader leaves. */
class Pieces<Chunk> extends BatchedIterator<Chunk> {
  readonly #status: number;
  readonly #body: AsyncIterator<Uint8Array>;
  readonly #reader: AnswerReader;
  readonly #translator: StreamTranslator<Chunk>;
  readonly #attempt: Attempt;
  /** Goes on when the client leaves. */
  readonly #held: HeldSignal | undefined;
  readonly #turns = new Turns();
  #ready: (Chunk | Run<Chunk>)[] = [];
  #at = 0;
  #over = false;
  #error: GatewayError | undefined;

  constructor(
    status: number,
    body: AsyncIterable<Uint8Array>,
    translator: StreamTranslator<Chunk>,
    framing: Framing,
    attempt: Attempt,
    held: HeldSignal | undefined,
  ) {
    super();
    this.#held = held;
    this.#status = status;
    this.#body = body[Symbol.asyncIterator]();
    this.#translator = translator;
    this.#attempt = attempt;
    this.#reader = answerReader(translator, framing, (chunks) => this.#take(chunks));
  }

  async more(): Promise<boolean> {
    while (this.#at === this.#ready.length) {
      if (this.#error) throw this.#error;
      if (this.#over) return false;
      await this.fill();
    }
    return true;
  }

  take(): Chunk | Run<Chunk> | undefined {
    const item = this.#ready[this.#at];
    if (item !== undefined) this.#at++;
    return item;
  }

  async return(): Promise<IteratorResult<Chunk, undefined>> {
    if (!this.#over) {
      this.#over = true;
      this.#attempt.fail(
        fail('client_closed', 'the client has left'),
        this.#heard(),
        this.#translator.model(),
      );
      await this.#body.return?.();
    }
    return { done: true, value: undefined };
  }

  /**
   * Reads until at least one piece is at hand or the answer is over. An error after
   * pieces that are at hand is kept until those are read.
   * @throws GatewayError when nothing came before it.
   */
  async fill(): Promise<void> {
    this.#ready = [];
    this.#at = 0;
    try {
      while (this.#ready.length === 0 && !this.#over) await this.#read();
    } catch (thrown) {
      this.#over = true;
      this.#error = this.#attempt.fail(thrown, this.#heard(), this.#translator.model());
      void this.#body.return?.();
      if (this.#ready.length === 0) throw this.#error;
    }
  }

  async #read(): Promise<void> {
    const { done, value } = await this.#body.next();
    if (this.#held !== undefined && !done) this.#held.read(value.length);
    const pause = done ? undefined : this.#turns.step(value.length);
    if (pause !== undefined) await pause;
    if (done) {
      this.#reader.end();
      this.#take(this.#translator.end());
    } else this.#reader.push(value);
    if (!done && !this.#translator.done) return;
    this.#over = true;
    this.#end(this.#translator.failure?.());
    if (!done) drain(this.#body);
  }

  /** @param failure which the answer's last event told */
  #end(failure: GatewayError | undefined): void {
    const responseModel = this.#translator.model();
    if (failure === undefined)
      this.#attempt.end({ status: this.#status, outcome: 'success', ...this.#heard(), responseModel });
    else this.#error = this.#attempt.fail(toldAlready(failure), this.#heard(), responseModel);
  }

  /** What the provider said of the answer so far. */
  #heard(): { readonly usage: UsageReport; readonly tier: string | undefined } {
    return { usage: this.#translator.usage(), tier: this.#translator.tier?.() };
  }

  #take(chunks: readonly (Chunk | Run<Chunk>)[]): void {
    if (chunks.length === 0) return;
    this.#attempt.firstToken();
    for (const chunk of chunks) {
      if (chunk instanceof Run) this.#attempt.saysRun(chunk);
      else this.#attempt.says(chunk as object);
      this.#ready.push(chunk);
    }
  }
}

/** Reads what is left so that the connection can be used again; gives up after a while. */
function drain(body: AsyncIterator<Uint8Array>): void {
  const timer = setTimeout(() => void body.return?.(), DRAIN_MS);
  const read = async (): Promise<void> => {
    while (!(await body.next()).done);
  };
  read()
    .catch(() => {})
    .finally(() => clearTimeout(timer));
}
