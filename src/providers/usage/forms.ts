// Where the forms of answers report their token counts, whichever provider sends them and on whichever path.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf } from '../json-object.ts';
import { countOf, sumOf } from './report.ts';

/** Members at the top of a whole answer that usage, model and tier are read from; all others may be left out. */
export const USAGE_MEMBERS: ReadonlySet<string> = new Set([
  ...[
    'usage',
    'usageMetadata',
    'model',
    'modelVersion',
    'service_tier',
    'serviceTier',
    'meta',
    'x_groq',
    'choices',
    'delta',
  ],
  ...['response', 'message', 'results', 'predictions', 'amazon-bedrock-invocationMetrics'],
  ...['inputTextTokenCount', 'totalOutputTextTokenCount', 'prompt_token_count', 'generation_token_count'],
  ...['prompt_eval_count', 'eval_count'],
  // Searches are counted by what stands in them.
  ...['output', 'candidates'],
]);

/** Whether an event's text may report usage: others need not be parsed for it. */
export function mayReport(text: string): boolean {
  return (
    text.includes('"usage') ||
    text.includes('ount"') ||
    text.includes('"bytes"') ||
    text.includes('Metrics"') ||
    text.includes('"web_search_call"')
  );
}

const X = 'x'.charCodeAt(0);

/**
 * The object of token counts in an answer or an event: `usage`, Gemini's `usageMetadata`, Groq's `x_groq.usage` and its like,
 * Moonshot's `choices[].usage`, Cohere's `delta.usage` and `meta.billed_units`, that of the whole answer in an event of
 * Responses (`response`) or of Anthropic's stream (`message`); undefined when it has none.
 */
export function usageIn(json: JsonObject): JsonObject | undefined {
  const own = objectOf(json.usage) ?? objectOf(json.usageMetadata) ?? objectOf(objectOf(json.delta)?.usage);
  if (own !== undefined) return own;
  const meta = objectOf(json.meta);
  if (meta !== undefined && countsTokens(meta)) return meta;
  for (const holder of [json.response, json.message]) {
    const nested = objectOf(objectOf(holder)?.usage);
    if (nested !== undefined) return nested;
  }
  // Gemini's live and batch forms nest an answer in `response`.
  const nested = objectOf(objectOf(json.response)?.usageMetadata);
  if (nested !== undefined) return nested;
  for (const choice of arrayOf(json.choices))
    if (isObject(choice) && isObject(choice.usage)) return choice.usage;
  // Members of the provider's own, as Groq's x_groq is.
  for (const name in json) {
    if (name.charCodeAt(0) !== X || (name[1] !== '-' && name[1] !== '_')) continue;
    const counts = objectOf(objectOf(json[name])?.usage);
    if (counts !== undefined) return counts;
  }
  return undefined;
}

/** Cohere bills searches and images too, which are no tokens. */
function countsTokens({ billed_units: billed, tokens }: JsonObject): boolean {
  const has = (counts: JsonValue | undefined): boolean =>
    isObject(counts) && (counts.input_tokens ?? counts.output_tokens ?? undefined) !== undefined;
  return has(billed) || has(tokens);
}

/**
 * Counts of forms without an object of their own, under OpenAI's names: Bedrock's InvokeModel (its metrics of a stream,
 * and what Titan and Llama answer), Ollama's own form, Vertex AI's predictions. Where an answer has `usageIn` too, that
 * says more.
 */
export function bareCounts(json: JsonObject): JsonObject | undefined {
  const metrics = objectOf(json['amazon-bedrock-invocationMetrics']);
  if (metrics !== undefined)
    return named(metrics.inputTokenCount, metrics.outputTokenCount, {
      cached_tokens: metrics.cacheReadInputTokenCount,
      cache_creation_tokens: metrics.cacheWriteInputTokenCount,
    });
  if (json.prompt_eval_count !== undefined || json.eval_count !== undefined)
    return named(json.prompt_eval_count, json.eval_count);
  if (json.prompt_token_count !== undefined || json.generation_token_count !== undefined)
    return named(json.prompt_token_count, json.generation_token_count);
  if (json.inputTextTokenCount !== undefined) {
    const results = arrayOf(json.results).flatMap((one) => (isObject(one) ? [countOf(one.tokenCount)] : []));
    return named(json.inputTextTokenCount, json.totalOutputTextTokenCount ?? asJson(sumOf(results)));
  }
  const predicted = arrayOf(json.predictions).flatMap((one) => {
    const statistics = isObject(one) ? objectOf(objectOf(one.embeddings)?.statistics) : undefined;
    return statistics === undefined ? [] : [countOf(statistics.token_count)];
  });
  return predicted.length === 0 ? undefined : named(asJson(sumOf(predicted)), undefined);
}

function named(
  prompt: JsonValue | undefined,
  completion: JsonValue | undefined,
  details: Readonly<Record<string, JsonValue | undefined>> = {},
): JsonObject {
  const parts = Object.entries(details).filter(([, count]) => count !== undefined && count !== null);
  const read = sumOf(parts.map(([, count]) => countOf(count as JsonValue))) ?? 0;
  // Bedrock's count of the input leaves out what its cache read and wrote.
  const asked = (countOf(prompt ?? undefined) ?? 0) + read;
  return {
    prompt_tokens: asJson(asked) ?? 0,
    ...(completion === undefined || completion === null ? {} : { completion_tokens: completion }),
    ...(parts.length === 0 ? {} : { prompt_tokens_details: Object.fromEntries(parts) as JsonObject }),
  };
}

/** NaN as a count that cannot be true. */
function asJson(count: number | undefined): JsonValue | undefined {
  return count === undefined ? undefined : Number.isNaN(count) ? -1 : count;
}
