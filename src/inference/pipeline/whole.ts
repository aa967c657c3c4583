// One attempt whose answer comes whole: request -> answer -> translate.
import type { Call } from '../../call/call.ts';
import type { OutboundRequest } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import type { Operation } from '../../providers/dialect.ts';
import { noteReceived } from './kept-bodies.ts';
import type { Pipeline } from './pipeline.ts';
import { type ReadAnswer, readAnswer } from './read-answer.ts';
import { type Asked, operationAttempt, runAttempt } from './run-attempt.ts';
import { translationOf } from './translation.ts';
import { upstreamError } from './upstream.ts';
import { writeWhole } from './write-request.ts';

/** Longest whole answer that is read, in bytes. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Of a refusal that is read, in bytes. */
const MAX_ERROR_BYTES = 1024 * 1024;
/**
 * Sends the request to the target and reads its answer.
 * @param maxBytes of the answer
 */
export async function callWhole<Request, Answer extends object>(
  pipeline: Pipeline,
  call: Call,
  asked: Asked<Request>,
  operation: Operation<Request, Answer>,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<Answer> {
  const { dialer, now } = pipeline;
  const { bound, dialect, request, aside } = asked;
  const { target } = bound;
  const context = translationOf(call, target, now, asked.name);
  const write = () => writeWhole(call, operation, request, context);
  const opening = operationAttempt(pipeline, call, asked, false, write);
  const dial = (outbound: OutboundRequest) => dialer.whole(outbound, maxBytes);
  return runAttempt(
    pipeline,
    call,
    opening instanceof Promise ? await opening : opening,
    dial,
    (answer, attempt) => {
      if (!aside) noteReceived(call, answer, answer.body);
      if (answer.status < 200 || answer.status > 299)
        throw upstreamError(target, dialect, answer, answer.body.subarray(0, MAX_ERROR_BYTES));
      if (isEncoded(answer.header('content-encoding'))) {
        throw fail(
          'upstream_garbage',
          `${target.provider.id} answered in an encoding that was not asked for`,
        );
      }
      const ended = ({ answer: message, usage, model, tier, said }: ReadAnswer<Answer>): Answer => {
        if (said !== undefined) attempt.saysText(said);
        else if (typeof usage !== 'object') attempt.says(message);
        attempt.end({ status: answer.status, outcome: 'success', usage, responseModel: model, tier });
        return message;
      };
      const read = readAnswer(pipeline, call, asked, operation, answer.body, context);
      return read instanceof Promise ? read.then(ended) : ended(read);
    },
  );
}

/** Whether a body is compressed although `identity` was asked for. */
export function isEncoded(contentEncoding: string | undefined): boolean {
  return contentEncoding !== undefined && contentEncoding !== '' && contentEncoding !== 'identity';
}
