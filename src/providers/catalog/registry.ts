// All providers. A new one that speaks a known dialect is one literal and one line here.
import type { ProviderEntry } from '../dialect.ts';
import { anthropic } from './anthropic.ts';
import { azureOpenai } from './azure-openai.ts';
import { cerebras } from './cerebras.ts';
import { dashscope } from './dashscope.ts';
import { deepinfra } from './deepinfra.ts';
import { deepseek } from './deepseek.ts';
import { featherlessAi } from './featherless-ai.ts';
import { fireworksAi } from './fireworks-ai.ts';
import { groq } from './groq.ts';
import { hyperbolic } from './hyperbolic.ts';
import { inferenceNet } from './inference-net.ts';
import { lambda } from './lambda.ts';
import { mistralAi } from './mistral-ai.ts';
import { moonshot } from './moonshot.ts';
import { nebius } from './nebius.ts';
import { novitaAi } from './novita-ai.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import { openaiCompatible } from './openai-compatible.ts';
import { openrouter } from './openrouter.ts';
import { perplexityAi } from './perplexity-ai.ts';
import { sambanova } from './sambanova.ts';
import { togetherAi } from './together-ai.ts';
import { xAi } from './x-ai.ts';
import { zAi } from './z-ai.ts';

/** Every provider, frozen: nothing at run time can change another's address. */
export const providers: readonly ProviderEntry[] = Object.freeze(
  [
    openai,
    anthropic,
    azureOpenai,
    groq,
    mistralAi,
    deepseek,
    openrouter,
    togetherAi,
    ollama,
    openaiCompatible,
    perplexityAi,
    xAi,
    fireworksAi,
    cerebras,
    deepinfra,
    nebius,
    sambanova,
    novitaAi,
    hyperbolic,
    moonshot,
    zAi,
    lambda,
    inferenceNet,
    featherlessAi,
    dashscope,
  ].map(frozen),
);

const byId: ReadonlyMap<string, ProviderEntry> = new Map(providers.map((entry) => [entry.id, entry]));

/** The provider with this identifier; undefined when there is none. */
export function providerById(id: string): ProviderEntry | undefined {
  return byId.get(id);
}

function frozen(entry: ProviderEntry): ProviderEntry {
  for (const value of Object.values(entry)) {
    if (typeof value === 'object') Object.freeze(value);
  }
  return Object.freeze(entry);
}
