// What a call may use at the most, before anything is known of it. No tokenizer runs here: it would cost more
// than the call's admission.

/** Output tokens of a call that states no maximum. */
export const ASSUMED_OUTPUT_TOKENS = 1024;
/** Bytes of a prompt's JSON for one token, as texts in European languages have; others have fewer. */
const BYTES_PER_TOKEN = 4;

/** More than any model takes or makes. */
const MOST_TOKENS = 1_000_000_000;

/** The worst case of a call, in tokens. */
export interface Estimate {
  readonly input: number;
  readonly output: number;
  /** Answers that it asks for, of which it states no maximum: `output` is assumed. */
  readonly assumedFor?: number;
}

/** The estimate under a rule that assumes otherwise of calls that state no maximum. */
export function assuming(estimate: Estimate, outputTokens: number | undefined): Estimate {
  const { input, assumedFor } = estimate;
  if (outputTokens === undefined || assumedFor === undefined) return estimate;
  return { input, output: Math.min(outputTokens * assumedFor, MOST_TOKENS), assumedFor };
}

/** Members of the requests that state a maximum, in the order in which they count. */
const MAXIMA = ['maxCompletionTokens', 'maxTokens', 'maxOutputTokens'] as const;

/**
 * @param bytes of the request's body
 * @param request the message; its `n` or `bestOf` multiplies the output
 * @param hasOutput whether the operation makes tokens
 */
export function estimateOf(bytes: number, request: object, hasOutput: boolean): Estimate {
  const input = Math.min(Math.ceil(bytes / BYTES_PER_TOKEN), MOST_TOKENS);
  if (!hasOutput) return { input, output: 0 };
  const members = request as Readonly<Record<string, unknown>>;
  const stated = members[MAXIMA[0]] ?? members[MAXIMA[1]] ?? members[MAXIMA[2]];
  const each = stated === undefined ? ASSUMED_OUTPUT_TOKENS : Number(stated);
  const choices = Math.max(numberOf(members.n), numberOf(members.bestOf), 1);
  const output = Math.max(0, Math.min(each * choices, MOST_TOKENS));
  return stated === undefined ? { input, output, assumedFor: choices } : { input, output };
}

function numberOf(value: unknown): number {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : 1;
}
