// An answer's events as text: a failure after the stream began is the response to the request.
import { toGatewayError } from '../lib/errors.ts';
import { type Frame, frameText } from './wire/sse-frames.ts';

/**
 * @param failed the response to the request by what was thrown; undefined: a stream of notices, which just ends
 * @param leave called once, when the stream has ended
 */
export async function* guarded(
  frames: AsyncIterable<Frame>,
  failed: ((thrown: unknown) => string) | undefined,
  leave: () => void,
): AsyncGenerator<string, void> {
  try {
    for await (const frame of frames) yield frameText(frame);
  } catch (thrown) {
    if (toGatewayError(thrown).reason === 'client_closed') throw thrown;
    if (failed !== undefined) yield frameText({ event: 'message', data: failed(thrown) });
  } finally {
    leave();
  }
}
