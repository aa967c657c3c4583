// Messages as server-sent events: `data: <json>` ... `data: [DONE]`.
import type { ServerResponse } from 'node:http';
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { toGatewayError } from '../lib/errors.ts';
import { rawJsonOf } from '../lib/raw-json.ts';
import { codec } from '../rest/codec.ts';
import { errorBody } from './error-body.ts';
import { drained, type Pairs } from './respond.ts';

/** Writes until the stream ends. An error after the first event becomes the last event, without [DONE]. */
export async function writeEvents(
  res: ServerResponse,
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
  res.writeHead(200, head);
  try {
    for await (const message of messages) {
      const json = rawJsonOf(message) ?? JSON.stringify(codec.encode(desc, message));
      const text = typeof json === 'string' ? json : Buffer.from(json).toString('utf8');
      if (!res.write(`data: ${text}\n\n`)) await drained(res);
    }
    res.end('data: [DONE]\n\n');
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.reason === 'client_closed' || res.destroyed) res.destroy();
    else res.end(`data: ${JSON.stringify(errorBody(error, Plane.DATA))}\n\n`);
  }
}
