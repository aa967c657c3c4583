// Answers that the gateway makes itself, in the place of an upstream.
import type { JsonObject, RequestId, RpcResponse } from '../wire/json-rpc.ts';
import type { Frame } from '../wire/sse-frames.ts';
import type { Relayed } from './asked.ts';

export const JSON_HEADERS = [['content-type', 'application/json']] as const;
export const EVENT_HEADERS = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-cache, no-transform'],
  ['x-accel-buffering', 'no'],
] as const;

/** It says nothing of an upstream's session. */
const NO_SESSION = { session: undefined, isForgotten: false } as const;

export function jsonAnswer(response: RpcResponse): Relayed {
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(response), response, ...NO_SESSION };
}

export function resultAnswer(id: RequestId, result: JsonObject): Relayed {
  return jsonAnswer({ jsonrpc: '2.0', id, result });
}

export function eventsAnswer(body: AsyncIterable<Frame>): Relayed {
  return { status: 200, headers: EVENT_HEADERS, body, ...NO_SESSION };
}

/** @param status 202 for a message that is no request */
export function emptyAnswer(status: 200 | 202): Relayed {
  return { status, headers: [], body: undefined, ...NO_SESSION };
}

/** A stream that has nothing of its own after what it begins with: others add to it. */
export async function* endless(...first: readonly Frame[]): AsyncGenerator<Frame, void> {
  yield* first;
  await new Promise<never>(() => {});
}
