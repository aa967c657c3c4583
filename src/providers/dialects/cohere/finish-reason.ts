// Why the model stopped (Cohere API reference, "Chat", `finish_reason`), in OpenAI's words.

const WORDS: Readonly<Record<string, string>> = Object.freeze({
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  TOOL_CALL: 'tool_calls',
  ERROR_TOXIC: 'content_filter',
  TOXIC: 'content_filter',
});

/** The finish reason: OpenAI's words when strict ("stop" for what it does not know), else the provider's own. */
export function finishReason(reason: string | undefined, strict: boolean): string {
  if (reason === undefined) return 'stop';
  if (!strict) return reason;
  return (Object.hasOwn(WORDS, reason) ? WORDS[reason] : undefined) ?? 'stop';
}

/** Reasons that are no answer: the model or its service broke off. */
export function isFailure(reason: string | undefined): boolean {
  return reason === 'ERROR' || reason === 'TIMEOUT';
}
