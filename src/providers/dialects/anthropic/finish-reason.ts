// Why the model stopped (Anthropic, "Stop reasons"), in OpenAI's words.

const WORDS: Readonly<Record<string, string>> = Object.freeze({
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  // The turn goes on when the caller sends it back: it is not over.
  pause_turn: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
});

/** The finish reason: OpenAI's words when strict ("stop" for what it does not know), else the provider's own. */
export function finishReason(stopReason: string | undefined, strict: boolean): string {
  if (stopReason === undefined) return 'stop';
  if (!strict) return stopReason;
  return (Object.hasOwn(WORDS, stopReason) ? WORDS[stopReason] : undefined) ?? 'stop';
}
