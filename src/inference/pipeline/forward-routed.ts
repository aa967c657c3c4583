// Pass-through by a plan of several targets, or of one that is called again: the request is read whole, so that it
// can be sent more than once. What the last provider answers is given as it is, whatever its status.
import type { Call } from '../../call/call.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { Pieces } from '../../lib/incoming/pieces.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { Routing } from '../plan/select.ts';
import { Route } from '../route/route.ts';
import { arriving } from './arriving.ts';
import type { Attempt } from './attempt.ts';
import type { HeldSignal } from './drains.ts';
import type { Pipeline } from './pipeline.ts';
import { retryAfter } from './upstream.ts';
import type { UsageTap } from './usage-tap.ts';
import { remainingMs, worldOf } from './world.ts';

/** Longest request that is kept to be sent again, in bytes. */
const MAX_BYTES = 25 * 1024 * 1024;

/** One call of a provider, its head at hand. */
export interface Forwarded {
  readonly answer: StreamedAnswer;
  readonly attempt: Attempt;
  readonly bound: BoundTarget;
  readonly tap: UsageTap;
  /** Whether the tap hears the bytes before they are held back. */
  readonly tapped: boolean;
  /** Goes on when the client leaves; undefined: it is cancelled then. */
  readonly held?: HeldSignal | undefined;
}

/** Sends the request to a target. */
export type Send = (
  bound: BoundTarget,
  body: Uint8Array | undefined,
  signal: AbortLike,
) => Promise<Forwarded>;

/** Carries out the plan. Resolves with the answer to give. @throws GatewayError when no provider answered */
export async function forwardRouted(
  pipeline: Pipeline,
  call: Call,
  routing: Routing,
  { path, params }: { readonly path: string; readonly params: unknown },
  body: AsyncIterable<Uint8Array> | Uint8Array | undefined,
  send: Send,
): Promise<Forwarded> {
  const bytes = body && (body instanceof Uint8Array ? body : await readWhole(body, call.signal));
  const refused = new Set<Refused>();
  const route = new Route<Forwarded>(
    {
      ...worldOf(pipeline, call, routing, {
        params: () => params,
        pathname: `/v1${path.split('?', 1)[0]}`,
        trace: undefined,
      }),
      async attempt(target, signal) {
        const forwarded = await send(await routing.bind(target), bytes, signal);
        if (forwarded.answer.status < 400) return forwarded;
        const error = new Refused(forwarded);
        refused.add(error);
        throw error;
      },
      // What a raw path does is the caller's to know, who asked for the hedge.
      idempotent: true,
      statusOf: () => 200,
      discard: endUnread,
    },
    remainingMs(call),
  );
  let given: Forwarded | undefined;
  try {
    given = (await route.run(routing.plan.root, call.signal)).answer;
    return given;
  } catch (thrown) {
    if (!(thrown instanceof Refused)) throw thrown;
    given = thrown.forwarded;
    return given;
  } finally {
    call.record.targetPath = route.last?.path ?? '';
    call.record.retries = route.retries;
    for (const { forwarded } of refused) if (forwarded !== given) endUnread(forwarded);
  }
}

/** A provider's refusal, which is an answer all the same. */
class Refused extends GatewayError {
  readonly forwarded: Forwarded;

  constructor(forwarded: Forwarded) {
    const { answer, bound } = forwarded;
    const retryAfterMs = retryAfter(answer, Date.now());
    super('upstream_status', `${bound.target.provider.id} answered with status ${answer.status}`, {
      status: answer.status,
      provider: bound.target.provider.id,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
    this.forwarded = forwarded;
  }
}

/** Ends an answer that is not given. */
function endUnread({ answer, attempt }: Forwarded): void {
  attempt.end({ status: answer.status, outcome: answer.status < 400 ? 'cancelled' : 'error' });
  void answer.body[Symbol.asyncIterator]().return?.();
}

async function readWhole(body: AsyncIterable<Uint8Array>, signal: AbortLike): Promise<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  const read = new Pieces();
  try {
    for (;;) {
      const { done, value } = await arriving(pieces.next(), signal);
      if (done) return await read.takeInTurns();
      read.push(value);
      if (read.bytes > MAX_BYTES) {
        throw fail(
          'body_too_large',
          `a request of more than ${MAX_BYTES} bytes is passed through to one target only: it cannot be sent again`,
        );
      }
    }
  } catch (error) {
    // Not waited for: a piece that is under way may never come.
    pieces.return?.()?.catch(() => {});
    throw error;
  }
}
