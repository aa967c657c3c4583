// Token counts of every wire under OpenAI's names (chat completions): `prompt_tokens` and `completion_tokens` are all
// that is paid of each side, the details are parts of them. Counts that cannot be true stay so (report.ts).
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf } from '../json-object.ts';
import { countOf, sumOf } from './report.ts';

/** OpenRouter counts reasoning by itself: of an answer that is all reasoning it may be a little more than the whole. */
const most = (completion: number): number => completion + Math.max(2, Math.floor(completion / 8));

/** How a provider reports reasoning: among the completion's tokens, or apart from them (x-ai). */
export type Reasoning = 'inside' | 'apart';

/** The counts under OpenAI's names; undefined when the object has no count of any wire. */
export function inOpenAiNames(counts: JsonObject, reasoning: Reasoning = 'inside'): JsonObject | undefined {
  if (isGiven(counts.prompt_tokens) || isGiven(counts.completion_tokens)) return chat(counts, reasoning);
  if (isGiven(counts.input_tokens) || isGiven(counts.output_tokens) || Array.isArray(counts.iterations))
    return isAnthropic(counts) ? anthropic(counts) : responses(counts);
  if (isGiven(counts.inputTokens) || isGiven(counts.outputTokens)) return bedrock(counts);
  if (isGiven(counts.promptTokenCount) || isGiven(counts.candidatesTokenCount)) return gemini(counts);
  if (isCohere(counts)) return cohere(counts);
  // Pinecone's rerank is charged by searches, as Cohere's is.
  if (isGiven(counts.rerank_units)) return searches(counts.rerank_units);
  if (isGiven(counts.search_units)) return searches(counts.search_units);
  // Some embedding services report the total alone.
  if (isGiven(counts.total_tokens)) return { ...counts, prompt_tokens: counts.total_tokens };
  return undefined;
}

/**
 * Chat completions. DeepSeek tells what was read from its cache as `prompt_cache_hit_tokens`, Moonshot as
 * `cached_tokens`, Mistral as `num_cached_tokens`, all as parts of the prompt's tokens. x-ai counts reasoning apart from the completion's tokens
 * (291 prompt + 26 completion + 189 reasoning = 506 total), and it is paid as output: the total tells which way a
 * report counts, so that other names of the same service are read right too.
 */
function chat(counts: JsonObject, reasoning: Reasoning): JsonObject {
  let source = cachedIn(counts);
  const [prompt = 0, completion = 0] = [countOf(source.prompt_tokens), countOf(source.completion_tokens)];
  const made = objectOf(counts.completion_tokens_details);
  const thought = countOf(made?.reasoning_tokens) ?? 0;
  const total = countOf(source.total_tokens);
  const isBeside =
    thought > 0 && (total === undefined ? reasoning === 'apart' : total === prompt + completion + thought);
  const paid = isBeside ? completion + thought : completion;
  if (isBeside) source = { ...source, completion_tokens: paid };
  else if (thought > completion && thought <= most(completion) && total === prompt + completion)
    source = { ...source, completion_tokens_details: { ...made, reasoning_tokens: json(completion) } };
  return total === undefined ? { ...source, total_tokens: json(prompt + paid) } : source;
}

/**
 * What the cache read and wrote, under the names that it has here: OpenRouter says `cache_write_tokens`, DashScope
 * `cache_creation_input_tokens`. Services that put Claude on this wire add Anthropic's own counts, which are apart from
 * the prompt's tokens when they are more than these.
 */
function cachedIn(counts: JsonObject): JsonObject {
  const details = objectOf(counts.prompt_tokens_details) ?? objectOf(counts.prompt_token_details);
  const { cache_read_input_tokens: ownRead, cache_creation_input_tokens: ownWritten } = counts;
  const read =
    details?.cached_tokens ??
    counts.prompt_cache_hit_tokens ??
    counts.cached_tokens ??
    counts.num_cached_tokens ??
    ownRead;
  const made =
    details?.cache_creation_tokens ??
    details?.cache_write_tokens ??
    details?.cache_creation_input_tokens ??
    ownWritten;
  if (!isGiven(read) && !isGiven(made)) return counts;
  const { cache_write_tokens: _, cache_creation_input_tokens: __, ...rest } = details ?? {};
  const parts = {
    ...rest,
    ...(isGiven(read) ? { cached_tokens: read } : {}),
    ...(isGiven(made) ? { cache_creation_tokens: made } : {}),
  };
  const prompt = countOf(counts.prompt_tokens) ?? 0;
  const cached = sumOf([countOf(ownRead), countOf(ownWritten)]) ?? 0;
  if (cached <= prompt) return { ...counts, prompt_tokens_details: parts };
  const { total_tokens: _total, ...others } = counts;
  return { ...others, prompt_tokens: json(prompt + cached), prompt_tokens_details: parts };
}

/** OpenAI's Responses: the same counts as input and output. */
function responses(counts: JsonObject): JsonObject {
  const { input_tokens: input, output_tokens: output, total_tokens: total, ...rest } = counts;
  // Transcriptions and realtime write the details in the singular.
  const { input_token_details: heard, output_token_details: spoken, ...plural } = rest;
  const { input_tokens_details: read = heard, output_tokens_details: made = spoken, ...own } = plural;
  const sum = sumOf([countOf(input), countOf(output)]) ?? 0;
  return {
    ...own,
    prompt_tokens: input ?? 0,
    completion_tokens: output ?? 0,
    total_tokens: isGiven(total) ? total : json(sum),
    ...(isGiven(read) ? { prompt_tokens_details: written(read) } : {}),
    ...(isGiven(made) ? { completion_tokens_details: made } : {}),
  };
}

/** Tokens that were written to the cache, under the name that they have in chats. */
function written(details: JsonValue): JsonValue {
  if (!isObject(details) || !isGiven(details.cache_write_tokens) || 'cache_creation_tokens' in details)
    return details;
  const { cache_write_tokens: tokens, ...rest } = details;
  return { ...rest, cache_creation_tokens: tokens };
}

/** Members that only Anthropic's usage has. */
function isAnthropic(counts: JsonObject): boolean {
  return (
    'cache_read_input_tokens' in counts ||
    'cache_creation_input_tokens' in counts ||
    'cache_creation' in counts ||
    'iterations' in counts ||
    'server_tool_use' in counts
  );
}

const ANTHROPIC = {
  input: (counts: JsonObject) => countOf(counts.input_tokens),
  read: (counts: JsonObject) => countOf(counts.cache_read_input_tokens),
  written: (counts: JsonObject) => countOf(counts.cache_creation_input_tokens),
  forHour: (counts: JsonObject) => countOf(objectOf(counts.cache_creation)?.ephemeral_1h_input_tokens),
  output: (counts: JsonObject) => countOf(counts.output_tokens),
  thought: (counts: JsonObject) => countOf(objectOf(counts.output_tokens_details)?.thinking_tokens),
};

/**
 * Anthropic: `input_tokens` leaves out what was read from and written to the cache; OpenAI's `prompt_tokens` is all of
 * it. Under compaction one answer takes several iterations, each of them paid; the outer counts are those of the last
 * one, or of those that are no compaction. So the sum over `iterations` counts, and the outer count where it is more
 * (a stream's first event has iterations that its last event does not repeat).
 */
export function anthropic(counts: JsonObject): JsonObject {
  const iterations = arrayOf(counts.iterations).filter(isObject);
  const paid = (read: (counts: JsonObject) => number | undefined): number | undefined => {
    const [outer, inner] = [read(counts), sumOf(iterations.map(read))];
    return outer === undefined || inner === undefined ? (outer ?? inner) : Math.max(outer, inner);
  };
  const [read, written, thought] = [paid(ANTHROPIC.read), paid(ANTHROPIC.written), paid(ANTHROPIC.thought)];
  const forHour = paid(ANTHROPIC.forHour);
  const prompt = (paid(ANTHROPIC.input) ?? 0) + (read ?? 0) + (written ?? 0);
  const completion = paid(ANTHROPIC.output) ?? 0;
  return {
    prompt_tokens: json(prompt),
    completion_tokens: json(completion),
    total_tokens: json(prompt + completion),
    ...(read === undefined && written === undefined
      ? {}
      : {
          prompt_tokens_details: {
            ...part('cached_tokens', read),
            ...part('cache_creation_tokens', written),
            ...part('cache_creation_1h_tokens', forHour === 0 ? undefined : forHour),
          },
        }),
    ...(thought === undefined ? {} : { completion_tokens_details: { reasoning_tokens: json(thought) } }),
    // Searches are paid in addition to the tokens.
    ...(isObject(counts.server_tool_use) ? { server_tool_use: counts.server_tool_use } : {}),
  };
}

/**
 * Gemini: what its own tools put into the prompt (`toolUsePromptTokenCount`) is paid as input, and thoughts
 * (`thoughtsTokenCount`), which `candidatesTokenCount` leaves out, as output.
 */
function gemini(counts: JsonObject): JsonObject {
  const thought = countOf(counts.thoughtsTokenCount);
  const prompt = sumOf([countOf(counts.promptTokenCount), countOf(counts.toolUsePromptTokenCount)]) ?? 0;
  const total = countOf(counts.totalTokenCount);
  const told = sumOf([countOf(counts.candidatesTokenCount), thought]) ?? 0;
  // Some models count their thoughts in the total alone.
  const completion = thought === undefined && total !== undefined ? Math.max(told, total - prompt) : told;
  return {
    prompt_tokens: json(prompt),
    completion_tokens: json(completion),
    // Some totals leave out the tools' tokens or the thoughts.
    total_tokens: json(Math.max(total ?? 0, prompt + completion)),
    ...(isGiven(counts.cachedContentTokenCount)
      ? { prompt_tokens_details: { cached_tokens: counts.cachedContentTokenCount } }
      : {}),
    ...(thought === undefined ? {} : { completion_tokens_details: { reasoning_tokens: json(thought) } }),
  };
}

/**
 * Bedrock's Converse: `inputTokens` leaves out what was read from and written to the cache; both are paid as input, and
 * among the total. The models' reasoning is among `outputTokens`.
 */
function bedrock(counts: JsonObject): JsonObject {
  const read = countOf(counts.cacheReadInputTokens);
  const written = countOf(counts.cacheWriteInputTokens);
  const byLife = arrayOf(counts.cacheDetails).filter(isObject);
  const forHour = sumOf(byLife.filter(({ ttl }) => ttl === '1h').map((one) => countOf(one.inputTokens)));
  const prompt = sumOf([countOf(counts.inputTokens), read, written]) ?? 0;
  const completion = countOf(counts.outputTokens) ?? 0;
  return {
    prompt_tokens: json(prompt),
    completion_tokens: json(completion),
    total_tokens: json(Math.max(countOf(counts.totalTokens) ?? 0, prompt + completion)),
    ...(read === undefined && written === undefined
      ? {}
      : {
          prompt_tokens_details: {
            ...part('cached_tokens', read),
            ...part('cache_creation_tokens', written),
            ...part('cache_creation_1h_tokens', forHour === 0 ? undefined : forHour),
          },
        }),
  };
}

/**
 * Cohere: `billed_units` is what is paid, `tokens` what the model saw, its own instructions among them. What was read
 * from the cache is told of the tokens, so that it may be more than what is billed.
 */
function cohere(counts: JsonObject): JsonObject {
  const [billed, seen] = [objectOf(counts.billed_units), objectOf(counts.tokens)];
  const prompt = countOf(billed?.input_tokens) ?? countOf(seen?.input_tokens) ?? 0;
  const completion = countOf(billed?.output_tokens) ?? countOf(seen?.output_tokens);
  const cached = countOf(counts.cached_tokens);
  return {
    prompt_tokens: json(prompt),
    ...part('completion_tokens', completion),
    total_tokens: json(prompt + (completion ?? 0)),
    ...part('search_units', countOf(billed?.search_units)),
    ...(cached === undefined
      ? {}
      : { prompt_tokens_details: { cached_tokens: json(Math.min(cached, prompt)) } }),
  };
}

/** Objects without counts, as beside errors, are no report. */
function isCohere({ billed_units: billed, tokens }: JsonObject): boolean {
  return [billed, tokens].some((counts) => isObject(counts) && Object.values(counts).some(isGiven));
}

/** Rerank is charged by searches, one for a query with up to 100 documents, and by no tokens. */
function searches(units: JsonValue): JsonObject {
  return { prompt_tokens: 0, total_tokens: 0, search_units: units };
}

function isGiven(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null;
}

function part(name: string, count: number | undefined): JsonObject {
  return count === undefined ? {} : { [name]: json(count) };
}

/** A count as a JSON value: NaN, which JSON has not, as a count that cannot be true. */
function json(count: number): JsonValue {
  return Number.isNaN(count) ? -1 : count;
}
