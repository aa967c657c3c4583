// What a provider's whole answer says: a short one is read at once, a long one on another thread.
import { fromBinary, type Message } from '@bufbuild/protobuf';
import { BinaryAnswerSchema, UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { MOST_EVENT_WEIGHT, READ_BYTE } from '../../lib/heavy-event.ts';
import { markHeavy } from '../../lib/heavy-message.ts';
import { lazyMessage } from '../../lib/lazy-message.ts';
import { attachRawJson, rawJsonOf } from '../../lib/raw-json.ts';
import { nextTurn } from '../../lib/time-slices.ts';
import type { Operation, Translated, TranslationContext } from '../../providers/dialect.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import { parseAnswer } from '../../providers/parse-answer.ts';
import { codec } from '../../rest/codec.ts';
import { isTooHeavy, LIGHT_BYTES } from '../../rest/json-weight.ts';
import { type ReadReply, tooHeavyAnswer } from '../reading/order.ts';
import type { Pipeline } from './pipeline.ts';
import type { Asked } from './run-attempt.ts';

const OPEN_BRACKET = 91;
const OPEN_BRACE = 123;
/**
 * Heaviest answer that is read, in the unit of `MOST_WEIGHT`: an answer with 20 likely tokens at each of 2,000 places weighs
 * 1.4 million, one with 2,000 vectors of 3,072 numbers 6 million.
 */
const MOST_ANSWER_WEIGHT = 2_000_000;
const MOST_VECTORS_WEIGHT = 8_000_000;
const VECTORS: ReadonlySet<string> = new Set<OperationName>([
  'embeddings',
  'embedContent',
  'batchEmbedContents',
  'invokeModel',
]);
/** What is longer or heavier is read on the other thread: to read and to write so much takes about 15 ms. */
const NEAR_BYTES = 2_097_152;
const NEAR_WEIGHT = 150_000;

/** What was read, and the answer's text where it must be estimated and the message is not at hand. */
export interface ReadAnswer<Answer> extends Translated<Answer> {
  readonly said?: string | undefined;
  /** Why it cannot be told in pieces, where it cannot. */
  readonly whole?: GatewayError | undefined;
}

/**
 * What an answer says.
 * @throws GatewayError what the operation throws; `upstream_garbage` when it is too heavy to be read
 */
export function readAnswer<Request, Answer extends object>(
  pipeline: Pick<Pipeline, 'answers' | 'now'>,
  call: Call,
  { name, bound, request, signal }: Pick<Asked<Request>, 'name' | 'bound' | 'request' | 'signal'>,
  operation: Operation<Request, Answer>,
  body: Uint8Array,
  context: TranslationContext,
): ReadAnswer<Answer> | Promise<ReadAnswer<Answer>> {
  if (body.length <= LIGHT_BYTES || !beginsJson(body)) return operation.response(body, request, context);
  const { target } = bound;
  if (operationRow(name).answer === BinaryAnswerSchema) {
    // What is made of it are bytes: they are not read a second time.
    return isTooHeavy(body, MOST_EVENT_WEIGHT, READ_BYTE).then((heavy) => {
      if (heavy) throw tooHeavyAnswer(target.provider.id);
      return operation.response(body, request, context);
    });
  }
  const far = async (): Promise<ReadAnswer<Answer>> => {
    const { organisationId = '', workspaceId } = call.principal ?? {};
    const order = {
      provider: target.provider.id,
      name,
      request: jsonOf(name, request as object),
      options: target.options,
      customHost: target.customHost,
      strict: target.strict,
      now: pipeline.now(),
      mostWeight: VECTORS.has(name) ? MOST_VECTORS_WEIGHT : MOST_ANSWER_WEIGHT,
    };
    const read = await pipeline.answers.read({ organisationId, workspaceId }, order, body, signal);
    return answerOf<Answer>(name, body, read, target.provider.id);
  };
  if (body.length > NEAR_BYTES) return far();
  return isTooHeavy(body, NEAR_WEIGHT).then(async (heavy) => {
    if (heavy) return far();
    const read = operation.response(body, request, context);
    // What is done with it has another turn: in the first calls of a process each takes 30 ms.
    await nextTurn();
    return read;
  });
}

/** Whether bytes may be an object or a list of JSON: what else comes whole, e.g. speech, is not looked through. */
function beginsJson(body: Uint8Array): boolean {
  let i = 0;
  while (body[i] === 32 || body[i] === 9 || body[i] === 10 || body[i] === 13) i++;
  return body[i] === OPEN_BRACE || body[i] === OPEN_BRACKET;
}

function jsonOf(name: OperationName, request: object): string | Uint8Array | undefined {
  const { request: schema, hasBody } = operationRow(name);
  if (!hasBody) return undefined;
  return rawJsonOf(request) ?? JSON.stringify(codec.encode(schema, request as never));
}

/** The message is made when a member of it is looked at: over REST it never is. */
function answerOf<Answer extends object>(
  name: OperationName,
  body: Uint8Array,
  { json = body, isReadable, isRewritable, id, usage, model, tier, said }: ReadReply,
  provider: string,
): ReadAnswer<Answer> {
  const { answer: schema } = operationRow(name);
  const error = tooHeavyToRead(provider);
  const read = (): Message => {
    if (!isRewritable) throw error;
    return codec.decode(schema, parseAnswer(json, provider));
  };
  const message = lazyMessage(schema, read, id === undefined ? undefined : ({ id } as object));
  if (!isReadable) markHeavy(message, error);
  return {
    answer: attachRawJson(message, json) as unknown as Answer,
    usage: usage instanceof Uint8Array ? fromBinary(UsageSchema, usage) : usage,
    model,
    tier,
    said,
    whole: isRewritable ? undefined : error,
  };
}

function tooHeavyToRead(provider: string): GatewayError {
  return fail(
    'upstream_garbage',
    `the answer of ${provider} is too long, or has too many members and items, for guardrails, streams, gRPC and Connect: ask over REST, whole and without guardrails of the answer`,
    { provider },
  );
}
