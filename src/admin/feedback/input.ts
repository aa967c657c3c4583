// Feedback as callers write it: one, a list, or a list as an object with numbers for names (admin-api facts, 10.5).
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { CreateFeedbackRequest, FeedbackInput } from '../../../gen/gateway/admin/v2/feedback_pb.ts';
import { invalidField } from '../../lib/errors.ts';
import { textPairs } from '../kit/metadata-pairs.ts';
import { defined } from '../kit/patch.ts';
import { isObject } from '../logs/json.ts';

/** A rating of a trace. */
export interface GivenFeedback {
  readonly traceId: string;
  readonly value: number;
  readonly weight: number;
  readonly metadata: Readonly<Record<string, string>>;
}

const MOST = 1000;
const TRACE_ID = /^[\x21-\x7e]{1,255}$/;

/** @throws GatewayError validation_failed, naming the member. */
export function givenFeedback({ feedback }: CreateFeedbackRequest): readonly GivenFeedback[] {
  if (feedback.case === 'many')
    return feedback.value.values.map((input, i) => readFeedback(plain(input), `[${i}].`));
  if (feedback.case !== 'one') throw invalidField('', 'must be feedback or a list of it', 'required');
  const one = plain(feedback.value);
  const names = Object.keys(one);
  if (names.length === 0 || !names.every((name) => /^\d{1,4}$/.test(name))) return [readFeedback(one, '')];
  if (names.length > MOST) throw invalidField('', `must hold at most ${MOST}`);
  // Numbers as names are in rising order, whichever way they were written.
  return Object.entries(one).map(([name, value]) => {
    if (!isObject(value)) throw invalidField(name, 'must be an object', 'type');
    return readFeedback(value, `${name}.`);
  });
}

function plain({ traceId, value, weight, metadata, others }: FeedbackInput): JsonObject {
  return { ...defined<JsonObject>({ trace_id: traceId, value, weight, metadata }), ...others };
}

function readFeedback(input: JsonObject, at: string): GivenFeedback {
  let traceId: JsonValue | undefined;
  const { value, weight = 1, metadata = {}, ...rest } = withoutNulls(input);
  for (const [name, given] of Object.entries(rest)) {
    if (!['trace_id', 'traceId', 'traceID'].includes(name))
      throw invalidField(at + name, 'is not a member of this object', 'unknown');
    traceId ??= given;
  }
  if (traceId === undefined) throw invalidField(`${at}trace_id`, 'is needed', 'required');
  if (typeof traceId !== 'string' || !TRACE_ID.test(traceId))
    throw invalidField(`${at}trace_id`, 'must be 1 to 255 printable ASCII characters');
  if (value === undefined) throw invalidField(`${at}value`, 'is needed', 'required');
  if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) > 10)
    throw invalidField(`${at}value`, 'must be a whole number from -10 to 10');
  if (typeof weight !== 'number' || !(weight >= 0 && weight <= 1))
    throw invalidField(`${at}weight`, 'must be between 0 and 1');
  if (!isObject(metadata)) throw invalidField(`${at}metadata`, 'must be an object', 'type');
  return { traceId, value, weight, metadata: metadataOf(metadata, at) };
}

/** Metadata without its nulls. @throws GatewayError validation_failed */
export function metadataOf(metadata: JsonObject, at: string): Readonly<Record<string, string>> {
  return textPairs(Object.entries(withoutNulls(metadata)), `${at}metadata`);
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}
