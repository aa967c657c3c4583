// Server-sent events of a body: the data of each.
import { EventSourceParserStream } from 'eventsource-parser/stream';

/** Ends with the body; the body ends when the reader stops. */
export async function* eventsOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const events = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  try {
    for (;;) {
      const { done, value } = await events.read();
      if (done) return;
      yield value.data;
    }
  } finally {
    await events.cancel().catch(() => {});
  }
}
