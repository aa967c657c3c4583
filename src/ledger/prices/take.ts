// Makes seed.json of the price list that the PyPI package `litellm` ships (MIT licence):
//   node src/ledger/prices/take.ts FOLDER VERSION
// where FOLDER is the unpacked package. Only providers of the catalogue are taken, and only prices by token.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The package's names of providers, by ours. */
const PROVIDERS: Readonly<Record<string, string>> = {
  openai: 'openai',
  'text-completion-openai': 'openai',
  anthropic: 'anthropic',
  azure: 'azure-openai',
  cerebras: 'cerebras',
  dashscope: 'dashscope',
  deepinfra: 'deepinfra',
  deepseek: 'deepseek',
  featherless_ai: 'featherless-ai',
  fireworks_ai: 'fireworks-ai',
  'fireworks_ai-embedding-models': 'fireworks-ai',
  groq: 'groq',
  hyperbolic: 'hyperbolic',
  lambda_ai: 'lambda',
  mistral: 'mistral-ai',
  moonshot: 'moonshot',
  nebius: 'nebius',
  novita: 'novita-ai',
  ollama: 'ollama',
  openrouter: 'openrouter',
  perplexity: 'perplexity-ai',
  sambanova: 'sambanova',
  together_ai: 'together-ai',
  xai: 'x-ai',
  zai: 'z-ai',
};

/** Our names of rates, by the package's. */
const RATES = {
  input: 'input_cost_per_token',
  output: 'output_cost_per_token',
  cacheRead: 'cache_read_input_token_cost',
  cacheWrite: 'cache_creation_input_token_cost',
  reasoning: 'output_cost_per_reasoning_token',
  inputAudio: 'input_cost_per_audio_token',
  outputAudio: 'output_cost_per_audio_token',
} as const;

const [folder = '', version = ''] = process.argv.slice(2);
const path = join(folder, 'model_prices_and_context_window_backup.json');
const given: Record<string, Record<string, unknown>> = JSON.parse(readFileSync(path, 'utf8'));
const providers: Record<string, Record<string, Record<string, number>>> = {};
for (const [name, entry] of Object.entries(given)) {
  const foreign = String(entry.litellm_provider);
  const provider = PROVIDERS[foreign];
  if (provider === undefined || typeof entry.input_cost_per_token !== 'number') continue;
  const rates = Object.fromEntries(
    Object.entries(RATES).flatMap(([own, theirs]) => {
      const rate = entry[theirs];
      return typeof rate === 'number' ? [[own, pico(rate)]] : [];
    }),
  );
  const model = name.startsWith(`${foreign}/`) ? name.slice(foreign.length + 1) : name;
  const models = providers[provider] ?? {};
  providers[provider] = models;
  // The name without the provider's prefix is the one that the provider itself knows.
  models[model] ??= rates;
}
const sorted = Object.fromEntries(
  Object.entries(providers)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, models]) => [
      id,
      Object.fromEntries(Object.entries(models).sort(([a], [b]) => (a < b ? -1 : 1))),
    ]),
);
const seed = {
  source: { package: 'litellm', ecosystem: 'PyPI', version, taken: new Date().toISOString().slice(0, 10) },
  unit: '1e-12 USD per token',
  providers: sorted,
};
writeFileSync(new URL('./seed.json', import.meta.url), `${JSON.stringify(seed, undefined, 1)}\n`);
const count = Object.values(sorted).reduce((sum, models) => sum + Object.keys(models).length, 0);
process.stdout.write(`${count} prices of ${Object.keys(sorted).length} providers\n`);

/** US dollars as whole 1e-12 USD, by the number's own digits; what is finer is rounded. */
function pico(dollars: number): number {
  const [digits = '', exponent = '0'] = dollars.toExponential().split('e');
  const [whole = '', part = ''] = digits.split('.');
  const shift = Number(exponent) - part.length + 12;
  return shift < 0 ? Math.round(dollars * 1e12) : Number(whole + part) * 10 ** shift;
}
