// Why the model stopped, in OpenAI's words: the generic format has them already, Cohere's has its own.

const WORDS: Readonly<Record<string, string>> = Object.freeze({
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  ERROR_LIMIT: 'length',
  ERROR_TOXIC: 'content_filter',
  USER_CANCEL: 'stop',
  TOOL_CALL: 'tool_calls',
});
const OPENAI = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'];

/** OpenAI's words when strict ("stop" for what it does not know), else the provider's own. @param called whether tools are called */
export function finishReason(reason: string | undefined, called: boolean, strict: boolean): string {
  if (reason === undefined) return called ? 'tool_calls' : 'stop';
  if (OPENAI.includes(reason)) return called && reason === 'stop' ? 'tool_calls' : reason;
  if (!strict) return reason;
  if (called && reason === 'COMPLETE') return 'tool_calls';
  return (Object.hasOwn(WORDS, reason) ? WORDS[reason] : undefined) ?? 'stop';
}
