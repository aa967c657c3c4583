// Who takes part in answers that are passed through.
import type { ForwardResponse } from '../../../gen/gateway/inference/v2/proxy_pb.ts';
import type { Call } from '../../call/call.ts';
import type { BoundTarget } from '../plan/bind.ts';

/** Takes part in the answers of some paths. */
export interface RawListener {
  /** @param path as the provider gets it, with its query @returns undefined where it takes no part */
  listens(method: string, path: string): Listening | undefined;
}

/** The same answer, with what has to happen before its pieces go on. */
export type Listening = (
  call: Call,
  bound: BoundTarget,
  answer: AsyncIterable<ForwardResponse>,
) => AsyncIterable<ForwardResponse>;
