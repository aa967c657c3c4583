// Messages as lines of JSON (https://jsonlines.org), one each, as fast as the client takes them.
import type { ServerResponse } from 'node:http';
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { codec } from '../rest/codec.ts';
import { drained, type Pairs } from './respond.ts';

/** Characters of one write, about. */
const CHUNK = 65_536;

/** Writes until the stream ends. A stream that breaks off ends the connection without its last chunk, so that clients see it. */
export async function writeLines(
  res: ServerResponse,
  desc: DescMessage,
  messages: AsyncIterable<Message>,
  headers: Pairs,
): Promise<void> {
  const head: Record<string, string> = {
    'content-type': 'application/jsonl; charset=utf-8',
    'cache-control': 'no-cache',
  };
  for (const [name, value] of headers) head[name] = value;
  res.writeHead(200, head);
  let text = '';
  let soon: NodeJS.Immediate | undefined;
  const write = (): void => {
    soon = undefined;
    if (text !== '') res.write(text);
    text = '';
  };
  try {
    for await (const message of messages) {
      text += `${JSON.stringify(codec.encode(desc, message))}\n`;
      // Lines that come together are written together; one that comes alone does not wait for others.
      if (text.length >= CHUNK) write();
      else soon ??= setImmediate(write);
      if (res.writableNeedDrain) await drained(res);
    }
    clearImmediate(soon);
    res.end(text);
  } catch {
    clearImmediate(soon);
    res.destroy();
  }
}
