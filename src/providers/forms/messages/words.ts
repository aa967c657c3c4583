// Words of chat answers in Anthropic's.
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { finishWord } from '../../finish-words.ts';

/** Anthropic's own words, which OpenAI's are too few for. */
const OWN_REASONS: ReadonlySet<string> = new Set([
  'stop_sequence',
  'pause_turn',
  'model_context_window_exceeded',
]);
/** Of OpenAI's words. */
const REASONS: Readonly<Record<string, string>> = Object.freeze({
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
});

/**
 * The stop reason; calls end a turn with `tool_use`, whatever the provider says of it.
 * @param refused whether the answer has a refusal: OpenAI's wire ends it with `stop`
 */
export function stopReason(finish: string | undefined, hasCalls: boolean, refused = false): string {
  const word = (finish ?? 'stop').toLowerCase();
  const reason = OWN_REASONS.has(word) ? word : (REASONS[finishWord(word) ?? ''] ?? 'end_turn');
  if (hasCalls && reason === 'end_turn') return 'tool_use';
  if (refused && reason === 'end_turn') return 'refusal';
  return reason === 'tool_use' && !hasCalls ? 'end_turn' : reason;
}

/** No tokens are known. */
export const NO_USAGE: JsonObject = Object.freeze({ input_tokens: 0, output_tokens: 0 });

/** Members that a wire of Anthropic's own reports, which readers of its usage know. */
const OWN = ['cache_creation', 'server_tool_use', 'service_tier', 'iterations', 'inference_geo', 'speed'];

/** The counts in Anthropic's members: what was read from and written to the cache is apart from the input. */
export function messageUsage(usage: Usage | undefined): JsonObject {
  if (usage === undefined) return NO_USAGE;
  const { promptTokensDetails: read, completionTokensDetails: made, extra } = usage;
  const [cached, written] = [read?.cachedTokens, read?.cacheCreationTokens].map((n) => Number(n ?? 0n));
  const thought = made?.reasoningTokens;
  const own = extra === undefined ? undefined : membersOf(extra, OWN);
  return {
    input_tokens: Math.max(0, Number(usage.promptTokens) - cached! - written!),
    cache_creation_input_tokens: written!,
    cache_read_input_tokens: cached!,
    output_tokens: Number(usage.completionTokens ?? 0n),
    ...(thought === undefined ? {} : { output_tokens_details: { thinking_tokens: Number(thought) } }),
    ...own,
  };
}

/** The members of these names that say something. */
function membersOf(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (object[name] == null ? [] : [[name, object[name]!]])));
}

/**
 * Anthropic's ids are letters, digits, "_" and "-": a client sends them back, and they are checked. One that is made here
 * is unique within its conversation.
 * @param answer the answer's id @param at the call's place in the answer
 */
export function callId(id: string | undefined, answer: string, at: number): string {
  const clean = cleanId(id ?? '');
  return clean === '' ? `toolu_${cleanId(answer) || made()}_${at}` : clean;
}

function made(): string {
  return randomUUID().replaceAll('-', '');
}

function cleanId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_');
}

/** The message's id, in the form of Anthropic's. */
export function messageId(id: string): string {
  const clean = cleanId(id);
  return clean.startsWith('msg_') ? clean : `msg_${clean || made()}`;
}
