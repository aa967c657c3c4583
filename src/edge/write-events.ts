// Messages as server-sent events: `data: <json>` ... `data: [DONE]`; where the form names its events, each with its
// `event:` line, and without [DONE].
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { Form } from '../../gen/gateway/options/v2/options_pb.ts';
import { toGatewayError } from '../lib/errors.ts';
import { rawJsonOf } from '../lib/raw-json.ts';
import { type Batched, batched, Run } from '../lib/runs.ts';
import { codec } from '../rest/codec.ts';
import { type ErrorShape, errorBody } from '../rest/error-body.ts';
import { EventBytes, MOST_TOGETHER, mostBytes } from './event-bytes.ts';
import type { EventSink } from './event-sink.ts';
import type { Pairs } from './respond.ts';

const HEAD = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-cache'],
  // Reverse proxies in front must not hold events back.
  ['x-accel-buffering', 'no'],
] as const;
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
  // The head leaves with the first event, which is nearly always at hand; a client must not wait for both.
  const alone = setTimeout(() => sink.flushHead(), HEAD_ALONE_MS);
  const named = (shape.form ?? Form.UNSPECIFIED) !== Form.UNSPECIFIED;
  const out = new Together(sink, named);
  const reader = batched(messages[Symbol.asyncIterator]());
  try {
    while (await reader.more()) {
      clearTimeout(alone);
      for (let next = reader.take(); next !== undefined; next = reader.take()) {
        const full = next instanceof Run ? out.writeRun(next) : out.write(framed(next, desc, named));
        if (full) await sink.drained().catch((left) => leave(reader, left));
      }
    }
    sink.end(out.taken(named ? '' : 'data: [DONE]\n\n'));
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.reason === 'client_closed' || sink.destroyed) {
      const rest = out.taken('');
      if (sink.destroyed) rest?.free();
      else if (rest !== undefined) sink.write(rest);
      sink.destroy();
    } else if (error.details.told) sink.end(out.taken(''));
    else
      sink.end(
        out.taken(`${named ? 'event: error\n' : ''}data: ${JSON.stringify(errorBody(error, shape))}\n\n`),
      );
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
  readonly #named: boolean;
  #bytes: EventBytes | undefined;
  #turn: NodeJS.Immediate | undefined;
  #isAwaited = false;

  constructor(sink: EventSink, named: boolean) {
    this.#sink = sink;
    this.#named = named;
  }

  /** Whether the connection is full: more is written after it has drained. */
  write(text: string): boolean {
    const isFull = this.#make(mostBytes(text));
    this.#bytes!.push(text);
    return this.#written() || isFull;
  }

  /** The same of many events. */
  writeRun(run: Run<unknown>): boolean {
    const isFull = this.#make(run.room(this.#named));
    this.#bytes!.fill((out, at) => run.write(this.#named, out, at));
    return this.#written() || isFull;
  }

  /** What waits, to be written by who asks. @param last added to it */
  taken(last: string): EventBytes | undefined {
    if (last !== '') this.#make(mostBytes(last));
    const bytes = this.#take();
    if (last !== '') bytes!.push(last);
    return bytes;
  }

  /** Room for so many bytes. */
  #make(room: number): boolean {
    const isFull = this.#bytes?.holds(room) === false && this.#flush();
    this.#bytes ??= new EventBytes(room);
    return isFull;
  }

  #written(): boolean {
    if (this.#bytes!.length >= MOST_TOGETHER) return this.#flush();
    // After the entry in the journal, which is written at the end of the turn: then the answer's end goes with its last events.
    if (!this.#isAwaited) process.nextTick(this.#inTurn);
    this.#isAwaited = true;
    return this.#sink.full;
  }

  readonly #inTurn = (): void => {
    this.#isAwaited = false;
    if (this.#bytes !== undefined) this.#turn ??= setImmediate(this.#flushed);
  };

  readonly #flushed = (): void => void this.#flush();

  #take(): EventBytes | undefined {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes;
  }

  #flush(): boolean {
    const bytes = this.#take();
    if (bytes === undefined) return false;
    if (!this.#sink.destroyed) return this.#sink.write(bytes);
    bytes.free();
    return false;
  }
}
