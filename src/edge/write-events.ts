// Messages as server-sent events: `data: <json>` ... `data: [DONE]`.
import type { ServerResponse } from 'node:http';
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { toGatewayError } from '../lib/errors.ts';
import { rawJsonOf } from '../lib/raw-json.ts';
import { codec } from '../rest/codec.ts';
import { errorBody } from './error-body.ts';
import { drained, type Pairs } from './respond.ts';

/** Characters that wait for one write at the most. */
const MOST_TOGETHER = 65_536;

/** Writes until the stream ends. An error after the first event becomes the last event, without [DONE]. */
export async function writeEvents(
  res: ServerResponse,
  status: number,
  desc: DescMessage,
  messages: AsyncIterable<Message>,
  headers: Pairs,
): Promise<void> {
  const head: Record<string, string> = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    // Reverse proxies in front must not hold events back.
    'x-accel-buffering': 'no',
  };
  for (const [name, value] of headers) head[name] = value;
  res.writeHead(status, head);
  const out = new Together(res);
  try {
    for await (const message of messages) {
      const json = rawJsonOf(message) ?? JSON.stringify(codec.encode(desc, message));
      const full = out.write(
        `data: ${typeof json === 'string' ? json : Buffer.from(json).toString('utf8')}\n\n`,
      );
      if (full) await drained(res);
    }
    out.write('data: [DONE]\n\n');
    out.flush();
    res.end();
  } catch (thrown) {
    const error = toGatewayError(thrown);
    out.flush();
    if (error.reason === 'client_closed' || res.destroyed) res.destroy();
    else res.end(`data: ${JSON.stringify(errorBody(error, Plane.DATA))}\n\n`);
  }
}

/** Events that are at hand together leave in one write: a write an event costs more than the event. */
class Together {
  readonly #res: ServerResponse;
  #text = '';
  #turn: NodeJS.Immediate | undefined;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** Whether the socket takes no more for now. */
  write(text: string): boolean {
    this.#text += text;
    if (this.#text.length >= MOST_TOGETHER) return this.flush();
    this.#turn ??= setImmediate(() => this.flush());
    return this.#res.writableNeedDrain;
  }

  flush(): boolean {
    clearImmediate(this.#turn);
    this.#turn = undefined;
    const text = this.#text;
    this.#text = '';
    return text !== '' && !this.#res.destroyed && !this.#res.write(text);
  }
}
