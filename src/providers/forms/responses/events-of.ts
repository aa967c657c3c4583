// A whole response in the form of a streamed one: for answers from a cache, and for providers that answer a streamed
// request whole. Nothing is cut up artificially.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type ModelResponse,
  ModelResponseSchema,
  type ResponseEvent,
} from '../../../../gen/gateway/inference/v2/responses_pb.ts';
import { rawValueOf } from '../../../lib/raw-json.ts';
import type { MessageJson } from '../../dialect.ts';
import { arrayOf, isObject } from '../../json-object.ts';
import { stringOf } from './content.ts';
import type { Tell } from './output.ts';
import { eventMessage } from './pieces.ts';

const ENDS: Readonly<Record<string, string>> = {
  incomplete: 'response.incomplete',
  failed: 'response.failed',
  cancelled: 'response.incomplete',
};

/** The events, from `response.created` to the one that ends it. */
export function eventsOf(json: MessageJson, answer: ModelResponse): readonly ResponseEvent[] {
  const response = (rawValueOf(answer) ?? json.encode(ModelResponseSchema, answer)) as JsonObject;
  const events: ResponseEvent[] = [];
  const tell: Tell = (type, members) =>
    events.push(eventMessage(json, { type, sequence_number: events.length, ...members }));
  const begun = {
    ...response,
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  tell('response.created', { response: begun });
  tell('response.in_progress', { response: begun });
  arrayOf(response.output).forEach((item, at) => {
    if (isObject(item)) tellItem(item, at, tell);
  });
  tell(ENDS[stringOf(response.status)] ?? 'response.completed', { response });
  return events;
}

function tellItem(item: JsonObject, at: number, tell: Tell): void {
  tell('response.output_item.added', { output_index: at, item: begunItem(item) });
  const say = (type: string, members: JsonObject): void =>
    tell(type, { ...members, item_id: item.id ?? '', output_index: at });
  switch (item.type) {
    case 'message':
      arrayOf(item.content).forEach((part, content_index) => {
        if (isObject(part)) tellPart(part, content_index, say);
      });
      break;
    case 'reasoning':
      arrayOf(item.summary).forEach((part, summary_index) => {
        if (!isObject(part)) return;
        const text = stringOf(part.text);
        say('response.reasoning_summary_part.added', { summary_index, part: { ...part, text: '' } });
        say('response.reasoning_summary_text.delta', { summary_index, delta: text });
        say('response.reasoning_summary_text.done', { summary_index, text });
        say('response.reasoning_summary_part.done', { summary_index, part });
      });
      break;
    case 'function_call':
      say('response.function_call_arguments.delta', { delta: stringOf(item.arguments) });
      say('response.function_call_arguments.done', {
        name: item.name ?? '',
        arguments: stringOf(item.arguments),
      });
      break;
    case 'custom_tool_call':
      say('response.custom_tool_call_input.delta', { delta: stringOf(item.input) });
      say('response.custom_tool_call_input.done', { input: stringOf(item.input) });
      break;
  }
  tell('response.output_item.done', { output_index: at, item });
}

/** An item before its content. */
function begunItem(item: JsonObject): JsonObject {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] };
    case 'reasoning':
      return { ...item, summary: [] };
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' };
    default:
      return item;
  }
}

function tellPart(part: JsonObject, content_index: number, say: Tell): void {
  if (part.type === 'refusal') {
    const refusal = stringOf(part.refusal);
    say('response.content_part.added', { content_index, part: { ...part, refusal: '' } });
    say('response.refusal.delta', { content_index, delta: refusal });
    say('response.refusal.done', { content_index, refusal });
  } else {
    const [text, logprobs] = [stringOf(part.text), [...arrayOf(part.logprobs)]];
    const empty = { ...part, text: '', annotations: [], logprobs: [] };
    say('response.content_part.added', { content_index, part: empty });
    say('response.output_text.delta', { content_index, delta: text, logprobs });
    arrayOf(part.annotations).forEach((annotation, annotation_index) => {
      say('response.output_text.annotation.added', { content_index, annotation_index, annotation });
    });
    say('response.output_text.done', { content_index, text, logprobs });
  }
  say('response.content_part.done', { content_index, part });
}
