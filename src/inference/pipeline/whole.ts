// One attempt whose answer comes whole: request -> answer -> translate.
import type { Call } from '../../call/call.ts';
import type { OutboundRequest } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import type { Operation } from '../../providers/dialect.ts';
import type { OperationName } from '../../providers/operations.ts';
import { isTooHeavy, LIGHT_BYTES } from '../../rest/json-weight.ts';
import { noteReceived } from './kept-bodies.ts';
import type { Pipeline } from './pipeline.ts';
import { type Asked, operationAttempt, runAttempt } from './run-attempt.ts';
import { translationOf } from './translation.ts';
import { upstreamError } from './upstream.ts';

const OPEN_BRACKET = 91;
const OPEN_BRACE = 123;
/** Longest whole answer that is read, in bytes. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Of a refusal that is read, in bytes. */
const MAX_ERROR_BYTES = 1024 * 1024;
/**
 * Heaviest answer that is read, in the unit of `MOST_WEIGHT`: an answer with 20 likely tokens at each of 2,000 places weighs
 * 1.4 million, one with 2,000 vectors of 3,072 numbers 6 million.
 */
export const MOST_ANSWER_WEIGHT = 2_000_000;
const MOST_VECTORS_WEIGHT = 8_000_000;
const VECTORS: ReadonlySet<string> = new Set<OperationName>([
  'embeddings',
  'embedContent',
  'batchEmbedContents',
  'invokeModel',
]);

function mostWeight(name: OperationName): number {
  return VECTORS.has(name) ? MOST_VECTORS_WEIGHT : MOST_ANSWER_WEIGHT;
}

/** Whether bytes may be an object or a list of JSON: what else comes whole, e.g. speech, is not looked through. */
function beginsJson(body: Uint8Array): boolean {
  let i = 0;
  while (body[i] === 32 || body[i] === 9 || body[i] === 10 || body[i] === 13) i++;
  return body[i] === OPEN_BRACE || body[i] === OPEN_BRACKET;
}

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
  const opening = operationAttempt(pipeline, call, asked, false, () => operation.request(request, context));
  const dial = (outbound: OutboundRequest) => dialer.whole(outbound, maxBytes);
  return runAttempt(pipeline, call, opening, dial, (answer, attempt) => {
    if (!aside) noteReceived(call, answer, answer.body);
    if (answer.status < 200 || answer.status > 299)
      throw upstreamError(target, dialect, answer, answer.body.subarray(0, MAX_ERROR_BYTES));
    if (isEncoded(answer.header('content-encoding'))) {
      throw fail('upstream_garbage', `${target.provider.id} answered in an encoding that was not asked for`);
    }
    const read = (): Answer => {
      const { answer: message, usage, model, tier } = operation.response(answer.body, request, context);
      if (typeof usage !== 'object') attempt.says(message);
      attempt.end({ status: answer.status, outcome: 'success', usage, responseModel: model, tier });
      return message;
    };
    const weighed = weigh(answer.body, asked.name, target.provider.id);
    return weighed === undefined ? read() : weighed.then(read);
  });
}

/**
 * Weighs a whole answer before it is read; undefined: it is light.
 * @throws GatewayError `upstream_garbage` when it is too heavy
 */
export function weigh(body: Uint8Array, name: OperationName, provider: string): Promise<void> | undefined {
  if (body.length <= LIGHT_BYTES || !beginsJson(body)) return undefined;
  return isTooHeavy(body, mostWeight(name)).then((heavy) => {
    if (heavy)
      throw fail('upstream_garbage', `the answer of ${provider} has too many members and items`, {
        provider,
      });
  });
}

/** Whether a body is compressed although `identity` was asked for. */
export function isEncoded(contentEncoding: string | undefined): boolean {
  return contentEncoding !== undefined && contentEncoding !== '' && contentEncoding !== 'identity';
}
