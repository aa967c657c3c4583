// The Responses API over the chat form.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatCompletion } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import {
  type CreateResponseRequest,
  CreateResponseRequestSchema,
  type ModelResponse,
  ModelResponseSchema,
  type ResponseEvent,
} from '../../../../gen/gateway/inference/v2/responses_pb.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { PrivateMember } from '../../../lib/private-member.ts';
import { randomId } from '../../../lib/random-id.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson, TranslationContext } from '../../dialect.ts';
import { arrayOf } from '../../json-object.ts';
import type { UsageReport } from '../../usage/report.ts';
import type { Form } from '../form.ts';
import { eventsOf } from './events-of.ts';
import { responseHead } from './head.ts';
import { logprobsOf } from './logprobs.ts';
import { ResponsePieces } from './pieces.ts';
import { toChat } from './request.ts';
import { toolKinds } from './tools.ts';
import { responseUsage } from './usage.ts';
import { ResponseWriter, type WriterDeps } from './writer.ts';

/** A request's JSON without its input: its answer repeats parts of it. */
class Asked extends PrivateMember {
  #json: JsonObject;

  constructor(request: object, json: JsonObject) {
    super(request);
    this.#json = json;
  }

  static of(request: object): JsonObject | undefined {
    return #json in request ? request.#json : undefined;
  }

  static keep(request: object, { input: _, ...json }: JsonObject): void {
    if (#json in request) request.#json = json;
    else new Asked(request, json);
  }
}

/** What agents always send, and some wires or models have no word for. */
const OPTIONAL: Readonly<Record<string, string>> = Object.freeze({
  parallel_tool_calls: 'parallel_tool_calls',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  service_tier: 'service_tier',
  tool_choice: 'tool_choice',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  seed: 'seed',
  stop: 'stop',
  user: 'user',
  safety_identifier: 'safety_identifier',
});

/** To and from chat. */
export function responsesForm(json: MessageJson): Form<CreateResponseRequest, ModelResponse, ResponseEvent> {
  return {
    optional: OPTIONAL,
    turns: 'input',
    toChat(request, carries, stream, { provider }) {
      const wire = { dialect: provider.dialect, provider: provider.id, carries };
      const asked = encoded(json, request);
      Asked.keep(request, asked);
      return toChat(asked, wire, stream);
    },
    answer: (completion, request, context, usage) =>
      messageOf(json, wholeResponse(completion, writing(json, request, context), context.now(), usage)),
    pieces: (request, context) =>
      new ResponsePieces(json, (tell) => ({ ...writing(json, request, context), tell }), context.now),
    wholeAsChunks: (answer) => eventsOf(json, answer),
  };
}

function encoded(json: MessageJson, request: CreateResponseRequest): JsonObject {
  return json.encode(CreateResponseRequestSchema, request) as JsonObject;
}

/** What an answer to the request is written with. */
function writing(
  json: MessageJson,
  request: CreateResponseRequest,
  { target: { provider }, now }: TranslationContext,
): WriterDeps {
  const key = randomId().replaceAll('-', '');
  const head = Asked.of(request) ?? encoded(json, { ...request, input: undefined });
  return {
    key,
    head: responseHead(head, `resp_${key}`, Math.floor(now() / 1000)),
    kinds: toolKinds(arrayOf(head.tools)),
    wire: { dialect: provider.dialect, provider: provider.id },
  };
}

/** A whole answer of the chat form as a response. @param now Unix time in milliseconds */
export function wholeResponse(
  completion: ChatCompletion,
  deps: WriterDeps,
  now: number,
  usage: UsageReport,
): JsonObject {
  const writer = new ResponseWriter(deps);
  const [choice] = completion.choices;
  if (choice?.message) writer.pushWhole(choice.message, logprobsOf(choice.logprobs));
  const counts = usage === 'refused' ? undefined : (usage ?? completion.usage);
  return writer.end(
    choice?.finishReason,
    completion.model,
    completion.serviceTier,
    responseUsage(counts),
    Math.floor(now / 1000),
  );
}

/** A response as a message with its JSON. */
export function messageOf(json: MessageJson, response: JsonObject): ModelResponse {
  const message = lazyMessage(ModelResponseSchema, () => json.decode(ModelResponseSchema, response));
  return attachRawJson(message, JSON.stringify(response));
}
