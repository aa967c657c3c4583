// Searches of the web that a provider made for an answer and charges apart from tokens, wherever its wire tells of them. They
// travel with the usage under Anthropic's name (`server_tool_use.web_search_requests`), which the books read.
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import { arrayOf, isObject, objectOf, textOf } from '../json-object.ts';
import { countOf, type UsageReport } from './report.ts';

/** The usage with searches that its own report does not count. */
export function withSearches(usage: UsageReport, searches: number): UsageReport {
  if (typeof usage !== 'object' || !(searches > 0) || usage.extra?.server_tool_use !== undefined)
    return usage;
  const extra = { ...usage.extra, server_tool_use: { web_search_requests: searches } };
  return create(UsageSchema, { ...usage, extra });
}

/** Models of OpenAI's chat that search once for each answer ("Web search", Chat Completions). */
const SEARCH_MODEL = /-search-(?:preview|api)\b/;

/**
 * Searches of a chat: x-ai counts the sources that it read (`num_sources_used`), Perplexity charges each request that searches,
 * and each query of its deep research (`num_search_queries`).
 * @param counts the report @param model that answered
 */
export function chatSearches(counts: JsonObject | undefined, model: string | undefined): number {
  if (counts === undefined) return 0;
  const sources = given(counts.num_sources_used);
  if (sources > 0) return sources;
  const queries = given(counts.num_search_queries);
  if (queries > 0 && model?.includes('deep-research')) return queries;
  if (queries > 0 || textOf(counts.search_context_size) !== undefined)
    return objectOf(counts.cost)?.request_cost === 0 ? 0 : 1;
  return model !== undefined && SEARCH_MODEL.test(model) ? 1 : 0;
}

/** Before Gemini 3 a prompt that searches is charged once, since then each query (Gemini API, "Pricing"). */
const BY_PROMPT = /gemini-(?:live-)?[12]\b/;

/** Searches of one answer of Gemini's. */
export class GeminiSearches {
  /** By the candidates. */
  readonly #queries = new Map<number, number>();

  /** @param json the answer or a piece of it; the last piece that names queries counts */
  push(json: JsonObject): void {
    if (!Array.isArray(json.candidates)) return;
    for (const [place, candidate] of json.candidates.entries()) {
      const queries = isObject(candidate)
        ? objectOf(candidate.groundingMetadata)?.webSearchQueries
        : undefined;
      const found = arrayOf(queries).filter((query) => typeof query === 'string' && query !== '').length;
      if (found > 0 && isObject(candidate))
        this.#queries.set(typeof candidate.index === 'number' ? candidate.index : place, found);
    }
  }

  count(model: string | undefined): number {
    let sum = 0;
    for (const found of this.#queries.values()) sum += found;
    return sum > 0 && model !== undefined && BY_PROMPT.test(model) ? 1 : sum;
  }
}

/** Searches of one response: of its actions only those that search are charged, not the pages that are opened. */
export class ResponseSearches {
  #items = 0;
  #whole = 0;

  /** @param json a response or one of its events */
  push(json: JsonObject): void {
    if (json.type === 'response.output_item.done') this.#items += isSearch(json.item) ? 1 : 0;
    else {
      const { output } = objectOf(json.response) ?? json;
      if (Array.isArray(output)) this.#whole = Math.max(this.#whole, output.filter(isSearch).length);
    }
  }

  get count(): number {
    return Math.max(this.#items, this.#whole);
  }
}

function isSearch(item: JsonValue | undefined): boolean {
  if (!isObject(item) || item.type !== 'web_search_call' || item.status === 'failed') return false;
  return (textOf(objectOf(item.action)?.type) ?? 'search') === 'search';
}

/** A count that cannot be true is none. */
function given(value: JsonValue | undefined): number {
  return countOf(value) || 0;
}
