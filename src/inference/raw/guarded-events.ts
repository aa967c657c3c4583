// A stream of a known form that is passed through under output guardrails: each event goes out, as it came, after it was
// checked, as far as a part can be (checks/stream). The bytes of events are held and never changed.
import type { Message } from '@bufbuild/protobuf';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { type GatewayError, toGatewayError, toldAlready } from '../../lib/errors.ts';
import type { Framing } from '../../providers/framing.ts';
import type { GuardedStream } from '../pipeline/guarded-stream.ts';
import type { PieceForm } from '../pipeline/pieces/piece-form.ts';
import { pieceOf, type StreamForm, writtenError, writtenEvent } from './stream-forms.ts';
import { FrameCutter } from './stream-frames.ts';
import { unseen } from './unseen.ts';

/** The gateway's own: of anything else that ends a stream a broken connection tells, as without guardrails. */
export const REFUSALS: ReadonlySet<string> = new Set(['guardrail_denied', 'forbidden']);

/** An event as it came. */
export interface RawEvent {
  readonly bytes: Uint8Array;
  /** Undefined of comments, and of what ends a stream. */
  readonly piece: Message | undefined;
  /** Whether it may be the first that the caller is given. */
  readonly begins: boolean;
}

/** How one stream is guarded. */
export interface GuardedEventsDeps {
  readonly form: StreamForm;
  readonly framing: Framing;
  /** Whether every event must be read. */
  readonly mustRead: boolean;
  readonly requestId: string;
  /** Told of all bytes that the provider sends. A promise: the next ones should wait for it. */
  readonly hear: (chunk: Uint8Array) => Promise<void> | undefined;
  /** Lays the guardrails over the events. */
  readonly guard: (events: AsyncIterable<RawEvent>, form: PieceForm) => Promise<GuardedStream>;
}

/**
 * The guarded bytes. Resolves when the first event with content may go out.
 * @throws GatewayError guardrail_denied (446) when none may, forbidden for events that must be read and cannot
 */
export async function guardedEvents(
  body: StreamedAnswer['body'],
  deps: GuardedEventsDeps,
): Promise<StreamedAnswer['body']> {
  const noted: { first?: Message; last?: Message } = {};
  const { events } = await deps.guard(rawEvents(body, deps), formOf(deps));
  return new GuardedBytes(events as AsyncIterable<RawEvent>, noted, deps);
}

async function* rawEvents(
  body: StreamedAnswer['body'],
  { form, framing, mustRead, hear }: GuardedEventsDeps,
): AsyncGenerator<RawEvent, void> {
  const cutter = new FrameCutter(framing);
  function* read(frames: ReturnType<FrameCutter['push']>): Generator<RawEvent> {
    for (const { bytes, events } of frames) {
      const [event] = events;
      const piece = event === undefined ? undefined : pieceOf(form, framing, event);
      if (piece === 'unreadable' && mustRead) throw unseen('an event of its stream is no JSON object');
      const known = typeof piece === 'object' ? piece : undefined;
      const begins = known === undefined ? event !== undefined : form.pieces.hasContent(known);
      yield { bytes, piece: known, begins };
    }
  }
  for await (const chunk of body) {
    const heard = hear(chunk);
    if (heard !== undefined) await heard;
    yield* read(cutter.push(chunk));
  }
  yield* read(cutter.end());
}

/** The pieces' form over events as they came. */
function formOf({ form, framing }: GuardedEventsDeps): PieceForm {
  const { pieces, schema } = form;
  const wrapped = (piece: object): RawEvent => ({
    bytes: writtenEvent(form, framing, piece as Message),
    piece: piece as Message,
    begins: true,
  });
  const texts = (read: PieceForm['increments']) => (event: object) => {
    const { piece } = event as RawEvent;
    return piece === undefined ? [] : read(piece);
  };
  return {
    ...pieces,
    increments: texts((piece) => pieces.increments(piece)),
    reader: () => texts(pieces.reader?.() ?? ((piece) => pieces.increments(piece))),
    hasContent: (event) => (event as RawEvent).begins,
    cutOff(last, _chunk, first) {
      const [one, other] = [(last as RawEvent).piece, (first as RawEvent).piece];
      return one === undefined ? [] : pieces.cutOff(one, schema, other ?? one).map(wrapped);
    },
  };
}

/** The bytes of released events. Not a generator: leaving before the first read must end the provider's stream too. */
class GuardedBytes implements AsyncIterableIterator<Uint8Array> {
  readonly #events: AsyncIterator<RawEvent>;
  readonly #noted: { first?: Message; last?: Message };
  readonly #deps: GuardedEventsDeps;
  #error: GatewayError | undefined;

  constructor(
    events: AsyncIterable<RawEvent>,
    noted: { first?: Message; last?: Message },
    deps: GuardedEventsDeps,
  ) {
    this.#events = events[Symbol.asyncIterator]();
    this.#noted = noted;
    this.#deps = deps;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#error !== undefined) throw this.#error;
    try {
      const { done, value } = await this.#events.next();
      if (done) return { done: true, value: undefined };
      if (value.piece !== undefined) {
        this.#noted.first ??= value.piece;
        this.#noted.last = value.piece;
      }
      return { done: false, value: value.bytes };
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (!REFUSALS.has(error.reason)) throw error;
      const { form, framing, requestId } = this.#deps;
      const { first, last } = this.#noted;
      this.#error = toldAlready(error);
      return { done: false, value: writtenError(form, framing, error, requestId, first, last) };
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    await this.#events.return?.();
    return { done: true, value: undefined };
  }
}
