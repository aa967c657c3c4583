// What a call may use at the most, before anything is known of it. No tokenizer runs here: it would cost more
// than the call's admission.

import type { UsageRecord } from '../../call/record.ts';
import { imageKind } from '../../providers/usage/media.ts';
import { roughTokens } from '../../providers/usage/rough-tokens.ts';

/** Output tokens of a call that states no maximum. */
export const ASSUMED_OUTPUT_TOKENS = 1024;

/** More than any model takes or makes. */
const MOST_TOKENS = 1_000_000_000;

/** The worst case of a call, in tokens. */
export interface Estimate {
  readonly input: number;
  readonly output: number;
  /** Answers that it asks for, of which it states no maximum: `output` is assumed. */
  readonly assumedFor?: number;
  /** What is charged apart from tokens, as far as the request tells it. */
  readonly media?: Partial<UsageRecord>;
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
  const input = Math.min(roughTokens(bytes), MOST_TOKENS);
  if (!hasOutput) {
    const media = mediaOf(request);
    return media === undefined ? { input, output: 0 } : { input, output: 0, media };
  }
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

/** Images and characters that a request asks for; undefined where it asks for none. */
function mediaOf(request: object): Partial<UsageRecord> | undefined {
  const { $typeName: type } = request as { readonly $typeName?: string };
  if (type === undefined || !MEDIA.has(type)) return undefined;
  const { n, quality, size, input } = request as Readonly<Record<string, string | number | undefined>>;
  if (type.endsWith('SpeechRequest')) return { characters: [...String(input ?? '')].length };
  return { images: numberOf(n), imageKind: imageKind(text(quality), text(size)) };
}

const MEDIA: ReadonlySet<string> = new Set(
  ['CreateImageRequest', 'CreateSpeechRequest'].map((name) => `gateway.inference.v2.${name}`),
);

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
