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
  const send = async (): Promise<void> => {
    const full = text !== '' && !res.write(text);
    text = '';
    if (full) await drained(res);
  };
  try {
    for await (const message of messages) {
      text += `${JSON.stringify(codec.encode(desc, message))}\n`;
      if (text.length >= CHUNK) await send();
    }
    res.end(text);
  } catch {
    res.destroy();
  }
}
