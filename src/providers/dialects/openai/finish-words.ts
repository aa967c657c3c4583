// Finish reasons that providers of this wire write in words of their own, seen in recorded traffic, as OpenAI's.
//   Together, some vLLM servers    eos, stop_sequence
//   Claude's and Cohere's on it    end_turn, max_tokens, tool_use, COMPLETE, MAX_TOKENS, TOOL_CALL
//   Mistral                        model_length
//   Zhipu                          sensitive, network_error
//   DeepSeek                       insufficient_system_resource, repetition_truncation
//   MiniMax                        max_output
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
  pause_turn: 'stop',
  function_call_filter: 'stop',
  sensitive: 'content_filter',
  safety: 'content_filter',
  content_filtered: 'content_filter',
  refusal: 'content_filter',
  recitation: 'content_filter',
  blocklist: 'content_filter',
  prohibited_content: 'content_filter',
  spii: 'content_filter',
  guardrail_intervened: 'content_filter',
});

/** OpenAI's word; undefined where it is one already, or is none that is known. */
export function openAiWord(reason: string): string | undefined {
  switch (reason) {
    case 'stop':
    case 'length':
    case 'tool_calls':
    case 'content_filter':
    case 'function_call':
      return undefined;
    default: {
      // Some add why behind a colon.
      const [word = ''] = reason.toLowerCase().replaceAll('-', '_').split(':');
      if (Object.hasOwn(WORDS, word)) return WORDS[word];
      return word !== reason && ['stop', 'length', 'tool_calls', 'content_filter'].includes(word)
        ? word
        : undefined;
    }
  }
}
