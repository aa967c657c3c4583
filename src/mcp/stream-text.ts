// An answer's events as text: a failure after the stream began is the response to the request.
import { toGatewayError } from '../lib/errors.ts';
import type { RequestId } from './wire/json-rpc.ts';
import { toMcpError } from './wire/mcp-error.ts';
import { type Frame, frameText } from './wire/sse-frames.ts';

/**
 * @param id of the request that the stream answers; null: a stream of notices, which just ends
 * @param leave called once, when the stream has ended
 */
export async function* guarded(
  frames: AsyncIterable<Frame>,
  id: RequestId | null,
  leave: () => void,
): AsyncGenerator<string, void> {
  try {
    for await (const frame of frames) yield frameText(frame);
  } catch (thrown) {
    if (toGatewayError(thrown).reason === 'client_closed') throw thrown;
    if (id !== null) yield frameText({ event: 'message', data: toMcpError(thrown, id).text(id) });
  } finally {
    leave();
  }
}
