// Why the model stopped (Converse, `stopReason`), in OpenAI's words.

const WORDS: Readonly<Record<string, string>> = Object.freeze({
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
});

/**
 * The finish reason: OpenAI's words when strict ("stop" for what it does not know), else the provider's own.
 * @param calls whether the caller's tools are called: the provider's own tools end a turn with tool_use too
 */
export function finishReason(stopReason: string | undefined, calls: boolean, strict: boolean): string {
  if (stopReason === undefined) return calls ? 'tool_calls' : 'stop';
  if (!strict) return stopReason;
  const word = Object.hasOwn(WORDS, stopReason) ? WORDS[stopReason] : undefined;
  // Some models end a turn in which they called with end_turn.
  if (stopReason === 'end_turn' && calls) return 'tool_calls';
  return word === undefined || (word === 'tool_calls' && !calls) ? 'stop' : word;
}
