// A stream of an upstream's events, each message checked. It ends with the response, or, where the upstream gave its
// events ids, without one: the client resumes it then.
import type { RequestId } from '../wire/json-rpc.ts';
import type { Frame, FrameReader } from '../wire/sse-frames.ts';
import { type Checked, garbage } from './answer-check.ts';

/**
 * @param id of the request that waits; undefined: a stream of notices, which ends when it ends
 * @throws GatewayError upstream_garbage, upstream_timeout, upstream_interrupted
 */
export async function* relayedEvents(
  bytes: AsyncIterable<Uint8Array>,
  reader: FrameReader,
  check: (text: string) => Promise<Checked>,
  id: RequestId | undefined,
): AsyncGenerator<Frame, void> {
  let isResumable = false;
  for await (const piece of bytes) {
    for (const frame of reader.push(piece)) {
      isResumable ||= frame.id !== undefined && frame.id !== '';
      const shown = await shownFrame(frame, check);
      if (shown !== undefined) yield shown;
      // What comes after the response, a second one for example, is not read.
      if (shown?.response !== undefined) return;
    }
  }
  for (const frame of reader.end()) {
    const shown = await shownFrame(frame, check);
    if (shown !== undefined) yield shown;
    if (shown?.response !== undefined) return;
  }
  if (id !== undefined && !isResumable) throw garbage('ended its answer without a response');
}

async function shownFrame(
  frame: Frame,
  check: (text: string) => Promise<Checked>,
): Promise<Frame | undefined> {
  const { data, ...rest } = frame;
  // A block without data sets the last id, or the time to retry.
  if (data === undefined || data === '') return frame;
  const { text, response } = await check(data);
  if (text !== undefined) return { ...rest, data: text, ...(response === undefined ? {} : { response }) };
  return frame.id === undefined ? undefined : { id: frame.id };
}
