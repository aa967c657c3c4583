// The one table of why an answer ended: the words of all wires, seen in recorded traffic or documented, as OpenAI's. An
// answer whose model or provider failed in the middle of it is `length`: cut short, and never taken for a whole one.
//   Together, some vLLM servers    eos, stop_sequence
//   Claude's and Cohere's on it    end_turn, max_tokens, tool_use, COMPLETE, MAX_TOKENS, TOOL_CALL
//   Anthropic                      pause_turn: a long turn that goes on when the caller sends it back
//   Mistral                        model_length
//   Zhipu                          sensitive, network_error
//   DeepSeek                       insufficient_system_resource, repetition_truncation
//   MiniMax                        max_output
//   Cohere, Oracle                 ERROR_LIMIT, ERROR_TOXIC
//   Gemini                         FinishReason in small letters: blocklist, image_safety, malformed_function_call, ...
//   Google's OpenAI-compatible API "content_filter: RECITATION", "function_call_filter: MALFORMED_FUNCTION_CALL"
const WORDS: Readonly<Record<string, string>> = Object.freeze({
  eos: 'stop',
  eos_token: 'stop',
  end_turn: 'stop',
  end: 'stop',
  complete: 'stop',
  completed: 'stop',
  finished: 'stop',
  stop_sequence: 'stop',
  stop_token: 'stop',
  max_tokens: 'length',
  max_length: 'length',
  max_output_tokens: 'length',
  model_length: 'length',
  max_output: 'length',
  length_limit: 'length',
  context_length_exceeded: 'length',
  insufficient_system_resource: 'length',
  repetition_truncation: 'length',
  network_error: 'length',
  model_context_window_exceeded: 'length',
  tool_call: 'tool_calls',
  tool_use: 'tool_calls',
  tooluse: 'tool_calls',
  toolcalls: 'tool_calls',
  pause_turn: 'length',
  error_limit: 'length',
  function_call_filter: 'length',
  malformed_function_call: 'length',
  malformed_response: 'length',
  unexpected_tool_call: 'length',
  too_many_tool_calls: 'length',
  missing_thought_signature: 'length',
  other: 'length',
  image_other: 'length',
  sensitive: 'content_filter',
  safety: 'content_filter',
  content_filtered: 'content_filter',
  refusal: 'content_filter',
  recitation: 'content_filter',
  blocklist: 'content_filter',
  prohibited_content: 'content_filter',
  spii: 'content_filter',
  language: 'content_filter',
  model_armor: 'content_filter',
  image_safety: 'content_filter',
  image_prohibited_content: 'content_filter',
  image_recitation: 'content_filter',
  toxic: 'content_filter',
  error_toxic: 'content_filter',
  guardrail_intervened: 'content_filter',
});

const OPENAI: ReadonlySet<string> = new Set([
  'stop',
  'length',
  'tool_calls',
  'content_filter',
  'function_call',
]);

/** OpenAI's word; undefined where it is one already, or is none that is known. */
export function openAiWord(reason: string): string | undefined {
  return OPENAI.has(reason) ? undefined : knownWord(reason);
}

/** OpenAI's word for a word of any wire; undefined: it is none that is known. */
export function finishWord(reason: string): string | undefined {
  return OPENAI.has(reason) ? reason : knownWord(reason);
}

function knownWord(reason: string): string | undefined {
  // Some add why behind a colon.
  const [word = ''] = reason.toLowerCase().replaceAll('-', '_').split(':');
  if (Object.hasOwn(WORDS, word)) return WORDS[word];
  return OPENAI.has(word) ? word : undefined;
}
