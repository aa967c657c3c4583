// Makes seed.json, and the catalogue's models.json, of the list that the PyPI package `litellm` ships (MIT licence):
//   node src/ledger/prices/take.ts FOLDER VERSION
// where FOLDER is the unpacked package. Only providers of the catalogue are taken.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { providers as catalogue } from '../../providers/catalog/registry.ts';
import type { Price, Rates, TieredRates } from './price.ts';

/** Our identifiers, by the package's names of providers. */
const PROVIDERS: ReadonlyMap<string, string> = new Map(
  catalogue.flatMap(({ id, prices = [] }) => prices.map((name) => [name, id] as const)),
);

/** Our names of rates, by the package's. */
const RATES = {
  input: 'input_cost_per_token',
  output: 'output_cost_per_token',
  cacheRead: 'cache_read_input_token_cost',
  cacheWrite: 'cache_creation_input_token_cost',
  cacheWrite1h: 'cache_creation_input_token_cost_above_1hr',
  reasoning: 'output_cost_per_reasoning_token',
  inputAudio: 'input_cost_per_audio_token',
  outputAudio: 'output_cost_per_audio_token',
  cacheReadAudio: 'cache_read_input_audio_token_cost',
  inputImage: 'input_cost_per_image_token',
  outputImage: 'output_cost_per_image_token',
  perCall: 'input_cost_per_request',
  perSearch: 'input_cost_per_query',
} as const;

/** The suffix that the package adds to a rate's name for a service tier. */
const TIERS = { batch: '_batches', flex: '_flex', priority: '_priority' } as const;
/** For prompts above so many thousand tokens. */
const LONG = [32, 100, 128, 200, 256, 272, 512];

/** Capabilities that are kept, as the package names them after `supports_`. */
const CAPABILITIES = [
  'function_calling',
  'parallel_function_calling',
  'tool_choice',
  'response_schema',
  'system_messages',
  'prompt_caching',
  'reasoning',
  'vision',
  'pdf_input',
  'audio_input',
  'audio_output',
  'video_input',
  'web_search',
  'computer_use',
];

/** Models that fill in between a prompt and a suffix: the instruct type, and those made for it. */
const TAKES_SUFFIX = /instruct|codestral|deepseek/;
/** Completion models that do not: OpenAI's base models. */
const BASE_MODEL = /^(?:davinci|babbage)-002$/;

/** "hd/1024-x-1792/dall-e-3" and "1024-x-1024/50-steps/…" are kinds of a model's images, priced by image or by pixel. */
const IMAGE = /^(?:([a-z]+)\/)?(\d+)-x-(\d+)\/(?:(\d+|max)-steps\/)?(?:bedrock\/)?(.+)$/;

const [folder = '', version = ''] = process.argv.slice(2);
const path = join(folder, 'model_prices_and_context_window_backup.json');
const given: Record<string, Record<string, unknown>> = JSON.parse(readFileSync(path, 'utf8'));
const providers: Record<string, Record<string, Price>> = {};
const models: Record<string, Record<string, object>> = {};
const images: Record<string, Record<string, Record<string, number>>> = {};
for (const [name, entry] of Object.entries(given)) {
  const foreign = String(entry.litellm_provider);
  const provider = PROVIDERS.get(foreign);
  if (provider === undefined) continue;
  const model = ownName(name, foreign);
  // Bedrock's prices of single regions and commitments, which no model's id says.
  if (provider === 'bedrock' && model.includes('/')) continue;
  put(models, provider, model, factsOf(model, entry));
  if (noteImage(provider, model, entry)) continue;
  const units = unitsOf(entry);
  if (
    typeof entry.input_cost_per_token !== 'number' &&
    entry.mode !== 'rerank' &&
    Object.keys(units).length === 0
  )
    continue;
  put(providers, provider, model, { ...priceOf(entry), ...searchesOf(entry), ...units });
}
for (const [provider, own] of Object.entries(images))
  for (const [model, rates] of Object.entries(own)) {
    const prices = providers[provider] ?? {};
    providers[provider] = prices;
    prices[model] = { ...prices[model], images: { ...prices[model]?.images, ...rates } };
  }
const sorted = inOrder(providers);
const source = {
  package: 'litellm',
  ecosystem: 'PyPI',
  version,
  taken: new Date().toISOString().slice(0, 10),
};
const seed = { source, unit: '1e-12 USD per token', providers: sorted };
writeFileSync(new URL('./seed.json', import.meta.url), `${JSON.stringify(seed, undefined, 1)}\n`);
tell('prices', sorted);
const known = { source, providers: inOrder(models) };
const modelsFile = new URL('../../providers/catalog/models.json', import.meta.url);
writeFileSync(modelsFile, `${JSON.stringify(known, undefined, 1)}\n`);
tell('models', known.providers);

/**
 * The name without the provider's prefix, which is the one that the provider itself knows. Kinds of one provider's models
 * ("vertex_ai-anthropic_models") share a prefix.
 */
function ownName(name: string, foreign: string): string {
  const family = foreign.startsWith('vertex_ai-') ? 'vertex_ai' : foreign;
  return name.startsWith(`${family}/`) ? name.slice(family.length + 1) : name;
}

/** All rates of a model, with what differs for tiers and for long prompts. */
function priceOf(entry: Readonly<Record<string, unknown>>): Price {
  const above = LONG.find((thousands) => `input_cost_per_token_above_${thousands}k_tokens` in entry);
  if (above === undefined) return tieredRates(entry, '');
  const long = { above: above * 1000, ...tieredRates(entry, `_above_${above}k_tokens`) };
  return { ...tieredRates(entry, ''), long };
}

function tieredRates(entry: Readonly<Record<string, unknown>>, suffix: string): TieredRates {
  const tiers = Object.entries(TIERS).flatMap(([tier, behind]) => {
    const rates = ratesOf(entry, suffix + behind);
    return Object.keys(rates).length === 0 ? [] : [[tier, rates] as const];
  });
  return {
    ...ratesOf(entry, suffix),
    ...(tiers.length === 0 ? {} : { tiers: Object.fromEntries(tiers) }),
  };
}

function ratesOf(entry: Readonly<Record<string, unknown>>, suffix: string): Rates {
  const rates = namedRates(entry, suffix);
  if (suffix === '' || rates.cacheWrite === undefined || rates.cacheWrite1h !== undefined) return rates;
  // The list seldom names it for tiers and long prompts; the provider's factors hold for it as for the shorter life.
  const { cacheWrite, cacheWrite1h } = namedRates(entry, '');
  if (!cacheWrite || cacheWrite1h === undefined) return rates;
  return { ...rates, cacheWrite1h: Math.round((cacheWrite1h * rates.cacheWrite) / cacheWrite) };
}

function namedRates(entry: Readonly<Record<string, unknown>>, suffix: string): Rates {
  return Object.fromEntries(
    Object.entries(RATES).flatMap(([own, theirs]) => {
      const rate = entry[theirs + suffix];
      return typeof rate === 'number' ? [[own, pico(rate)]] : [];
    }),
  );
}

/** A search of the web, which is paid in addition to tokens: the usual one, where its size has a price. */
function searchesOf(entry: Readonly<Record<string, unknown>>): Price {
  const sizes = entry.search_context_cost_per_query as Readonly<Record<string, unknown>> | null | undefined;
  const each = sizes?.search_context_size_medium;
  return typeof each === 'number' && each > 0 ? { perWebSearch: pico(each) } : {};
}

/** What else than tokens is counted, by the entry's kind. */
function unitsOf(entry: Readonly<Record<string, unknown>>): Price {
  const rate = (...names: readonly string[]): number | undefined => {
    const found = names.map((name) => entry[name]).find((one) => typeof one === 'number' && one > 0);
    return found === undefined ? undefined : pico(found as number);
  };
  const named = <N extends string>(name: N, value: number | undefined): { [K in N]?: number } =>
    (value === undefined ? {} : { [name]: value }) as { [K in N]?: number };
  switch (entry.mode) {
    case 'audio_transcription':
      return named('perAudioSecond', rate('input_cost_per_second', 'output_cost_per_second'));
    case 'audio_speech':
      return named('perCharacter', rate('input_cost_per_character'));
    case 'ocr':
      return named('perPage', rate('ocr_cost_per_page'));
    case 'video_generation':
      return named('perVideoSecond', rate('output_cost_per_video_per_second', 'output_cost_per_second'));
    case 'image_generation':
    case 'image_edit': {
      const each = rate('output_cost_per_image', 'input_cost_per_image');
      return each === undefined ? {} : { images: { 'default.default': each } };
    }
    default:
      return {};
  }
}

/** Whether the name is one of a kind of images. */
function noteImage(provider: string, name: string, entry: Readonly<Record<string, unknown>>): boolean {
  const [, quality = 'default', width, height, steps, model = ''] = IMAGE.exec(name) ?? [];
  if (width === undefined || height === undefined) return false;
  const { output_cost_per_image: each, input_cost_per_pixel: input, output_cost_per_pixel: output } = entry;
  const pixels = Number(width) * Number(height);
  const perPixel = [input, output].find((one) => typeof one === 'number' && one > 0);
  // The package divides published prices by the pixels, with few digits: a millionth of a dollar makes them whole.
  const dollars =
    typeof each === 'number' ? each : perPixel && Math.round((perPixel as number) * pixels * 1e6) / 1e6;
  if (typeof dollars !== 'number' || dollars <= 0) return true;
  const own = images[provider] ?? {};
  images[provider] = own;
  const rates = own[model] ?? {};
  own[model] = rates;
  rates[`${steps === 'max' ? 'premium' : quality}.${width}x${height}`] ??= pico(dollars);
  return true;
}

/** What is known of a model: its kind, its lengths in tokens, and what it can do. */
function factsOf(model: string, entry: Readonly<Record<string, unknown>>): object {
  const { mode, max_input_tokens: input, max_output_tokens: output } = entry;
  const can = CAPABILITIES.filter((name) => entry[`supports_${name}`] === true);
  if (TAKES_SUFFIX.test(model) || (mode === 'completion' && !BASE_MODEL.test(model))) can.push('suffix');
  const context = contextOf(input, output);
  return {
    ...(typeof mode === 'string' ? { mode } : {}),
    ...(context === undefined ? {} : { context }),
    ...(isLength(output) ? { output } : {}),
    ...(can.length > 0 ? { can } : {}),
  };
}

/**
 * Prompt and answer together. The package tells the longest prompt, which for most models is the whole context; where
 * a provider keeps a part of it for the answer, both together make a round number.
 */
function contextOf(input: unknown, output: unknown): number | undefined {
  if (!isLength(input)) return undefined;
  const together = isLength(output) ? input + output : input;
  const split = input % 1000 === 0 && input % 10_000 !== 0 && together % 10_000 === 0;
  return split ? together : input;
}

function isLength(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

/** The first of a name stays. */
function put<T>(all: Record<string, Record<string, T>>, provider: string, model: string, value: T): void {
  const own = all[provider] ?? {};
  all[provider] = own;
  own[model] ??= value;
}

function inOrder<T>(all: Readonly<Record<string, Readonly<Record<string, T>>>>) {
  const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);
  return Object.fromEntries(
    Object.entries(all)
      .sort(byName)
      .map(([id, own]) => [id, Object.fromEntries(Object.entries(own).sort(byName))]),
  );
}

function tell(what: string, all: Readonly<Record<string, object>>): void {
  const count = Object.values(all).reduce((sum, own) => sum + Object.keys(own).length, 0);
  process.stdout.write(`${count} ${what} of ${Object.keys(all).length} providers\n`);
}

/** US dollars as whole 1e-12 USD, by the number's own digits; what is finer is rounded. */
function pico(dollars: number): number {
  const [digits = '', exponent = '0'] = dollars.toExponential().split('e');
  const [whole = '', part = ''] = digits.split('.');
  const shift = Number(exponent) - part.length + 12;
  return shift < 0 ? Math.round(dollars * 1e12) : Number(whole + part) * 10 ** shift;
}
