// Why the model stopped (Gemini API reference, "FinishReason" and "BlockReason"), in OpenAI's words.

const WORDS: Readonly<Record<string, string>> = Object.freeze({
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  MODEL_ARMOR: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
});

/**
 * The finish reason. Gemini says STOP when it has made calls, too. Strict: OpenAI's words ("stop" for what it does not
 * know); else the provider's own, but for calls, which clients wait for.
 */
export function finishReason(reason: string | undefined, hasCalls: boolean, strict: boolean): string {
  if (hasCalls && (reason === undefined || reason === 'STOP')) return 'tool_calls';
  if (reason === undefined) return 'stop';
  if (!strict) return reason;
  return (Object.hasOwn(WORDS, reason) ? WORDS[reason] : undefined) ?? 'stop';
}
