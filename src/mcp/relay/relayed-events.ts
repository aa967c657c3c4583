// A stream of an upstream's events, each message checked. It ends with the response, or, where the upstream gave its
// events ids, without one: the client resumes it then.
import { fail } from '../../lib/errors.ts';
import { unlessSilent } from '../upstream/unless-silent.ts';
import type { Frame, FrameReader } from '../wire/sse-frames.ts';
import { checkedMessage, type Expected, garbage } from './answer-check.ts';
import { ASKED_MS, type Patience } from './patience.ts';

/** How long a stream of notices waits for a notice, in milliseconds. */
const NOTICES_MS = 86_400_000;

/** @throws GatewayError upstream_garbage, upstream_timeout, upstream_interrupted */
export async function* relayedEvents(
  bytes: AsyncIterable<Uint8Array>,
  reader: FrameReader,
  expected: Expected,
  silenceMs: number,
  patience: Patience | undefined,
): AsyncGenerator<Frame, void> {
  let isResumable = false;
  let boundMs =
    expected.id === undefined || expected.method === 'subscriptions/listen' ? NOTICES_MS : silenceMs;
  const bound = {
    boundMs: () => patience?.boundMs(boundMs) ?? boundMs,
    notBefore: () => patience?.answeredAt ?? 0,
  };
  let toldAt = performance.now();
  for await (const piece of unlessSilent(bytes, bound)) {
    const frames = reader.push(piece);
    // Comments keep a connection open, and are no answer for ever.
    if (frames.length > 0) toldAt = performance.now();
    else if (performance.now() - toldAt > Math.max(boundMs, ASKED_MS))
      throw fail('upstream_timeout', 'the MCP server sent nothing but comments');
    for (const frame of frames) {
      isResumable ||= frame.id !== undefined && frame.id !== '';
      const shown = await shownFrame(frame, expected);
      if (shown?.request !== undefined) {
        boundMs = Math.max(boundMs, ASKED_MS);
        // What is asked on a stream of notices belongs to a request that waits elsewhere.
        if (expected.id === undefined) patience?.asked();
      }
      if (shown !== undefined) yield shown;
      // What comes after the response, a second one for example, is not read.
      if (shown?.response !== undefined) return;
    }
  }
  for (const frame of reader.end()) {
    const shown = await shownFrame(frame, expected);
    if (shown !== undefined) yield shown;
    if (shown?.response !== undefined) return;
  }
  if (expected.id !== undefined && !isResumable) throw garbage('ended its answer without a response');
}

async function shownFrame(frame: Frame, expected: Expected): Promise<Frame | undefined> {
  const { data, ...rest } = frame;
  // A block without data sets the last id, or the time to retry.
  if (data === undefined || data === '') return frame;
  const { text, response, request } = await checkedMessage(data, expected);
  if (text === undefined) return frame.id === undefined ? undefined : { id: frame.id };
  const said = {
    ...(response === undefined ? {} : { response }),
    ...(request === undefined ? {} : { request }),
  };
  return { ...rest, data: text, ...said };
}
