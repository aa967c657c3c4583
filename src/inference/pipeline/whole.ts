// One attempt whose answer comes whole: request -> answer -> translate.
import type { Call } from '../../access/call.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import type { Dialect, Operation } from '../../providers/dialect.ts';
import type { OperationName } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { Attempt } from './attempt.ts';
import { checkModel, READS } from './model-access.ts';
import { checkLimits } from './model-limits.ts';
import type { Pipeline } from './pipeline.ts';
import { noteReceived, noteSent } from './said.ts';
import { holdTarget, isLimited } from './target-limits.ts';
import { traced } from './traced.ts';
import { outboundRequest, upstreamError } from './upstream.ts';

/** Longest whole answer that is read, in bytes. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Operations whose answers are tokens that a model makes. */
const MAKES_TOKENS: ReadonlySet<OperationName> = new Set(['chat', 'completions']);

/** Sends the request to the target and reads its answer. */
export async function callWhole<Request, Answer>(
  pipeline: Pipeline,
  call: Call,
  bound: BoundTarget,
  dialect: Dialect,
  name: OperationName,
  operation: Operation<Request, Answer>,
  request: Request,
  model: string,
  signal: AbortLike,
): Promise<Answer> {
  const { dialer, models, flights, now } = pipeline;
  const { target } = bound;
  checkModel(bound, name, model);
  checkLimits(models, bound, name, model, request);
  const context = { target, now };
  const id = timeOrderedId();
  const outbound = traced(
    call,
    outboundRequest(bound, dialect, name, operation.request(request, context), signal, id),
    id,
  );
  const attempt = new Attempt(call, target, outbound.origin, model, id);
  call.trail.virtualKey = bound.stored?.slug;
  attempt.pricedBy = bound.stored?.pricing;
  // Moderation is counted by no provider.
  if (name !== 'moderations') attempt.asks(request as object);
  noteSent(call, outbound, target);
  try {
    if (isLimited(bound, call) && !READS.has(name))
      await holdTarget(pipeline, call, bound, attempt, {
        ...{ body: outbound.body, request: request as object, model, tells: true },
        makesTokens: MAKES_TOKENS.has(name),
      });
    const noted = attempt.noted(flights, outbound.body, request as object, MAKES_TOKENS.has(name));
    if (noted !== undefined) await noted;
    const answer = await dialer.whole(outbound, MAX_ANSWER_BYTES);
    noteReceived(call, answer, answer.body);
    if (answer.status < 200 || answer.status > 299) throw upstreamError(target, dialect, answer, answer.body);
    if (isEncoded(answer.header('content-encoding'))) {
      throw fail('upstream_garbage', `${target.provider.id} answered in an encoding that was not asked for`);
    }
    const {
      answer: message,
      usage,
      model: responseModel,
      tier,
    } = operation.response(answer.body, request, context);
    if (typeof usage !== 'object') attempt.says(message as object);
    attempt.end({ status: answer.status, outcome: 'success', usage, responseModel, tier });
    return message;
  } catch (thrown) {
    throw attempt.fail(thrown);
  }
}

/** Whether a body is compressed although `identity` was asked for. */
export function isEncoded(contentEncoding: string | undefined): boolean {
  return contentEncoding !== undefined && contentEncoding !== '' && contentEncoding !== 'identity';
}
