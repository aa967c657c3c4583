// The request of POST /responses in the chat form.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { invalidField } from '../../../lib/errors.ts';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';
import { stringOf } from './content.ts';
import { type AbleWire, Conversation, type Wire } from './conversation.ts';
import { Drops } from './dropped.ts';
import { chatToolChoice, chatTools } from './tools.ts';

/** A request in the chat form, and what that form has no word for. */
export interface InChatForm {
  readonly chat: JsonObject;
  /** Paths of members that the wire cannot carry. */
  readonly lost: readonly string[];
}

/** Members that mean the same in both forms. */
const SAME = ['model', 'temperature', 'top_p', 'user'] as const;
/** The same, of services that add them to the form. */
const ADDED = ['frequency_penalty', 'presence_penalty', 'seed', 'stop'] as const;

/** Members that are read here, or that the gateway itself honours (store, metadata, ids, the stream's own). */
const KNOWN: ReadonlySet<string> = new Set([
  ...SAME,
  ...ADDED,
  ...[
    'input',
    'instructions',
    'previous_response_id',
    'stream',
    'store',
    'background',
    'conversation',
    'prompt',
  ],
  ...[
    'max_output_tokens',
    'top_logprobs',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'reasoning',
    'text',
  ],
  ...['truncation', 'include', 'metadata', 'service_tier', 'safety_identifier', 'prompt_cache_key'],
  ...['stream_options'],
]);

/**
 * @param request as JSON, its references resolved
 * @throws GatewayError validation_failed naming what only the provider of this API can do
 */
export function toChat(request: JsonObject, wire: AbleWire, streams: boolean): InChatForm {
  refuseForeign(request);
  const drops = new Drops();
  const conversation = new Conversation(wire, drops);
  if (typeof request.instructions === 'string') conversation.system(request.instructions);
  conversation.input(request.input ?? undefined);
  if (conversation.messages.length === 0) throw invalidField('input', 'must hold at least one message');
  const chat: JsonObject = { messages: conversation.messages };
  for (const name of [...SAME, ...ADDED]) copy(chat, name, request[name]);
  copy(chat, 'max_completion_tokens', request.max_output_tokens);
  writeTools(chat, request, wire, drops);
  writeText(chat, request.text, wire, drops);
  writeLogprobs(chat, request, wire, drops);
  writeReasoning(chat, request.reasoning, drops);
  writeTier(chat, request.service_tier, wire, drops);
  if (wire.dialect !== 'openai') copy(chat, 'safety_identifier', request.safety_identifier);
  else named(drops, 'safety_identifier', request.safety_identifier);
  named(drops, 'prompt_cache_key', request.prompt_cache_key);
  if (request.truncation === 'auto') drops.add('truncation', 'auto');
  for (const name of Object.keys(request)) if (!KNOWN.has(name)) named(drops, name, request[name]);
  if (streams) {
    chat.stream = true;
    chat.stream_options = { include_usage: true };
  }
  return { chat, lost: drops.all };
}

/** What names something that only the provider of this API keeps. */
function refuseForeign(request: JsonObject): void {
  const only = 'is only for providers that publish the Responses API: use one of them';
  if (request.background === true) throw invalidField('background', only);
  if (isGiven(request.conversation)) throw invalidField('conversation', only);
  if (isGiven(request.prompt)) throw invalidField('prompt', only);
  if (isGiven(request.previous_response_id)) throw invalidField('previous_response_id', only);
}

function writeTools(chat: JsonObject, request: JsonObject, { carries }: AbleWire, drops: Drops): void {
  const offered = chatTools(arrayOf(request.tools), drops);
  const { choice, tools } = chatToolChoice(request.tool_choice, offered, drops);
  if (tools.length === 0) {
    if (isForced(request.tool_choice)) drops.add('tool_choice');
    return;
  }
  chat.tools = [...tools];
  copy(chat, 'tool_choice', choice);
  // Calls in parallel are what every wire does unasked.
  if (request.parallel_tool_calls !== false) return;
  if (carries.oneTool) chat.parallel_tool_calls = false;
  else drops.add('parallel_tool_calls');
}

function isForced(choice: JsonValue | undefined): boolean {
  return choice === 'required' || isObject(choice);
}

function writeText(chat: JsonObject, text: JsonValue | undefined, { dialect }: Wire, drops: Drops): void {
  if (!isObject(text)) return;
  const format = objectOf(text.format);
  if (format?.type === 'json_schema') {
    const { type: _, ...schema } = format;
    chat.response_format = { type: 'json_schema', json_schema: schema };
  } else if (format?.type === 'json_object') chat.response_format = { type: 'json_object' };
  else if (format !== undefined && format.type !== 'text') drops.add('text.format', stringOf(format.type));
  for (const name of Object.keys(text))
    if (name !== 'format' && name !== 'verbosity') named(drops, `text.${name}`, text[name]);
  if (dialect === 'openai') copy(chat, 'verbosity', text.verbosity);
  else named(drops, 'text.verbosity', text.verbosity);
}

function writeLogprobs(chat: JsonObject, request: JsonObject, { dialect }: Wire, drops: Drops): void {
  const include = arrayOf(request.include);
  const asked = include.includes('message.output_text.logprobs');
  if (dialect === 'openai') {
    if (asked) chat.logprobs = true;
    if (asked) copy(chat, 'top_logprobs', request.top_logprobs);
  } else if (asked) {
    drops.add('include', 'message.output_text.logprobs');
    named(drops, 'top_logprobs', request.top_logprobs);
  }
  for (const one of include) {
    if (one === 'message.output_text.logprobs' || one === 'reasoning.encrypted_content') continue;
    drops.add('include', String(one));
  }
}

/** Other wires give the reasoning as it was, which is what `auto` asks for. */
function writeReasoning(chat: JsonObject, reasoning: JsonValue | undefined, drops: Drops): void {
  const { effort, ...others } = objectOf(reasoning) ?? {};
  copy(chat, 'reasoning_effort', effort);
  for (const [name, value] of Object.entries(others))
    if (value !== 'auto') named(drops, `reasoning.${name}`, value);
}

/** The usual tier is what every provider serves unasked. */
function writeTier(chat: JsonObject, tier: JsonValue | undefined, { dialect }: Wire, drops: Drops): void {
  if (typeof tier !== 'string' || tier === 'auto' || tier === 'default') return;
  if (dialect === 'openai' || (dialect === 'anthropic' && tier === 'priority')) chat.service_tier = tier;
  else named(drops, 'service_tier', tier);
}

/** A member without a word for it; its value may be a secret. */
function named(drops: Drops, param: string, value: JsonValue | undefined): void {
  if (isGiven(value)) drops.add(param);
}

function copy(chat: JsonObject, name: string, value: JsonValue | undefined): void {
  if (isGiven(value)) chat[name] = value;
}

function isGiven(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null;
}
