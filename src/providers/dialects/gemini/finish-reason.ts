// Why the model stopped (Gemini API reference, "FinishReason" and "BlockReason"), in OpenAI's words.
import { finishWord } from '../../finish-words.ts';

/** Turns that failed, whatever was said before: what follows would be built on a call that was never made. */
const FAILURES: ReadonlySet<string> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
]);
/** The request lacks something: sending it again does not help. */
const OF_THE_REQUEST = 'MISSING_THOUGHT_SIGNATURE';

/**
 * The finish reason. Gemini says STOP when it has made calls, too. Strict: OpenAI's words ("stop" for what it does not
 * know); else the provider's own, but for calls, which clients wait for.
 */
export function finishReason(reason: string | undefined, hasCalls: boolean, strict: boolean): string {
  if (hasCalls && (reason === undefined || reason === 'STOP')) return 'tool_calls';
  if (reason === undefined) return 'stop';
  if (!strict) return reason;
  return finishWord(reason) ?? 'stop';
}

/** Whether the answer was withheld by a filter. */
export function isWithheld(reason: string): boolean {
  return finishWord(reason) === 'content_filter';
}

/**
 * The status that tells of a turn that is no answer; undefined: it is one.
 * @param isSaid whether the answer has text, calls or media
 */
export function failureStatus(reason: string, isSaid: boolean): number | undefined {
  if (reason === OF_THE_REQUEST) return 400;
  if (FAILURES.has(reason)) return 502;
  if (isSaid || reason === 'STOP' || reason === 'MAX_TOKENS' || isWithheld(reason)) return undefined;
  return 502;
}
