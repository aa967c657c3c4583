// Messages as server-sent events: `data: <json>` ... `data: [DONE]`; where the form names its events, each with its
// `event:` line, and without [DONE].
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { Form } from '../../gen/gateway/options/v2/options_pb.ts';
import { toGatewayError } from '../lib/errors.ts';
import { rawJsonOf } from '../lib/raw-json.ts';
import { type Batched, batched, Run } from '../lib/runs.ts';
import { codec } from '../rest/codec.ts';
import { type ErrorShape, errorBody } from '../rest/error-body.ts';
import type { EventSink } from './event-sink.ts';
import type { Pairs } from './respond.ts';

const HEAD = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-cache'],
  // Reverse proxies in front must not hold events back.
  ['x-accel-buffering', 'no'],
] as const;
/** Characters that wait for one write at the most. */
const MOST_TOGETHER = 65_536;
/** How long the head waits for the first event, in milliseconds. */
const HEAD_ALONE_MS = 20;

/** Writes until the stream ends. An error after the first event becomes the last event, without [DONE]. */
export async function writeEvents(
  sink: EventSink,
  status: number,
  desc: DescMessage,
  messages: AsyncIterable<Message>,
  headers: Pairs,
  shape: ErrorShape,
): Promise<void> {
  sink.head(status, [...HEAD, ...headers]);
  const out = new Together(sink);
  // The head leaves with the first event, which is nearly always at hand; a client must not wait for both.
  const alone = setTimeout(() => sink.flushHead(), HEAD_ALONE_MS);
  const named = (shape.form ?? Form.UNSPECIFIED) !== Form.UNSPECIFIED;
  const reader = batched(messages[Symbol.asyncIterator]());
  try {
    while (await reader.more()) {
      clearTimeout(alone);
      for (let next = reader.take(); next !== undefined; next = reader.take()) {
        const full = out.write(next instanceof Run ? next.framed(named) : framed(next, desc, named));
        if (full) await sink.drained().catch((left) => leave(reader, left));
      }
    }
    sink.end(out.taken(named ? '' : 'data: [DONE]\n\n'));
  } catch (thrown) {
    const error = toGatewayError(thrown);
    const rest = out.taken('');
    if (error.reason === 'client_closed' || sink.destroyed) {
      if (rest !== '' && !sink.destroyed) sink.write(rest);
      sink.destroy();
    } else if (error.details.told) sink.end(rest);
    else
      sink.end(`${rest}${named ? 'event: error\n' : ''}data: ${JSON.stringify(errorBody(error, shape))}\n\n`);
  } finally {
    clearTimeout(alone);
  }
}

/** The stream ends when its reader leaves. @throws why it leaves */
async function leave(reader: Batched<Message>, why: unknown): Promise<never> {
  await reader.return?.();
  throw why;
}

function framed(message: Message, desc: DescMessage, named: boolean): string {
  const json = rawJsonOf(message) ?? JSON.stringify(codec.encode(desc, message));
  const text = typeof json === 'string' ? json : Buffer.from(json).toString('utf8');
  return named ? `event: ${nameOf(message, text)}\ndata: ${text}\n\n` : `data: ${text}\n\n`;
}

/** An event's type nearly always comes first in its text. */
const TYPE = /^\{"type":"([a-z_.]{1,64})"/;

function nameOf(message: Message, text: string): string {
  const known = TYPE.exec(text)?.[1];
  if (known !== undefined) return known;
  const { type } = message as { readonly type?: unknown };
  // A line break would be another line of the event.
  return typeof type === 'string' ? type.replace(/[\r\n].*/s, '') : 'message';
}

/** Events that are at hand together leave in one write: a write an event costs more than the event. */
class Together {
  readonly #sink: EventSink;
  #text = '';
  #turn: NodeJS.Immediate | undefined;
  #isAwaited = false;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  /** Whether the connection is full: more is written after it has drained. */
  write(text: string): boolean {
    this.#text += text;
    if (this.#text.length >= MOST_TOGETHER) return this.#flush();
    // After the entry in the journal, which is written at the end of the turn: then the answer's end goes with its last events.
    if (!this.#isAwaited) process.nextTick(this.#inTurn);
    this.#isAwaited = true;
    return this.#sink.full;
  }

  readonly #inTurn = (): void => {
    this.#isAwaited = false;
    if (this.#text !== '') this.#turn ??= setImmediate(this.#flushed);
  };

  readonly #flushed = (): void => void this.#flush();

  /** What waits, to be written by who asks. */
  taken(last: string): string {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    const text = this.#text + last;
    this.#text = '';
    return text;
  }

  #flush(): boolean {
    const text = this.taken('');
    return text !== '' && !this.#sink.destroyed && this.#sink.write(text);
  }
}
