// From how many tokens on a model's provider caches a prompt.
import test from 'ava';
import { cacheMinimum } from '../../../src/inference/route/prompt-prefix.ts';

for (const [model, tokens] of [
  ['claude-opus-4-5', 4096],
  ['anthropic.claude-haiku-4.5-v1:0', 4096],
  ['Claude-3-Haiku', 2048],
  ['haiku-claude', 1024],
  ['gemini-2.5-pro', 4096],
  ['models/Gemini-2.5-flash', 1024],
  ['gpt-5', 1024],
  ['', 1024],
  // A pattern that looks for the second word behind each of the first takes the square of the length.
  ['claude'.repeat(100_000), 1024],
] as const)
  test(`${model.slice(0, 40)}: ${tokens}`, (t) => t.is(cacheMinimum(model), tokens));
