// Names that may have been meant.
import test from 'ava';
import { nearestNames } from '../../src/lib/nearest-names.ts';

const NAMES = [
  'retry',
  'weight',
  'openai',
  'azure-openai',
  'anthropic',
  'mistral-ai',
  'groq',
  'ollama',
  'x-ai',
];

for (const [word, nearest] of [
  ['opnai', 'openai'],
  ['Open-AI', 'openai'],
  ['antropic', 'anthropic'],
  ['mistral', 'mistral-ai'],
  ['grok', 'groq'],
  ['olama', 'ollama'],
  ['retries', 'retry'],
  ['weights', 'weight'],
] as const)
  test(`${word} is nearest to ${nearest}`, (t) => {
    t.is(nearestNames(word, NAMES)[0], nearest);
  });

for (const word of ['', 'nobody', 'x'.repeat(100_000), '…'])
  test(`nothing is near to ${word.slice(0, 10)} (${word.length})`, (t) => {
    t.deepEqual(nearestNames(word, NAMES), []);
  });
