// The specification's rules that need the catalogue of models, over every protocol: prompt and answer within the
// context, suffixes for instruct models only; models that the catalogue does not know are the provider's to judge.
import test from 'ava';
import { CompletionsService } from '../../gen/gateway/inference/v2/completions_pb.ts';
import { openModelCatalogue } from '../../src/providers/catalog/models.ts';
import { providerById } from '../../src/providers/catalog/registry.ts';
import { type Bench, type Case, invalid, type JsonObject, runCases, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const INSTRUCT = 'gpt-3.5-turbo-instruct';
const CONTEXT = 8192;
const method = CompletionsService.method.createCompletion;
const accepted = (name: string, body: JsonObject): Case => ({
  name: `${name} is accepted`,
  method,
  body: { model: INSTRUCT, prompt: 'Say hello', ...body },
  check: (t, { json }) => void t.is(json.object, 'text_completion'),
});
const refused = (name: string, field: string, message: RegExp, body: JsonObject): Case => ({
  name: `${name} is refused`,
  method,
  body: { model: INSTRUCT, prompt: 'Say hello', ...body },
  refused: invalid(field, message),
});
const tokens = (count: number): number[] => Array.from({ length: count }, (_, i) => i % 50_000);
const tooMuch = /must not exceed 8192, gpt-3\.5-turbo-instruct's context/;

const CASES: Case[] = [
  accepted('max_tokens of nothing', { max_tokens: 0 }),
  accepted('a short prompt with room', { max_tokens: CONTEXT - 100 }),
  accepted('tokens that just fit', { prompt: tokens(4000), max_tokens: CONTEXT - 4000 }),
  accepted('several prompts that each fit', {
    prompt: [tokens(3000), tokens(4000)],
    max_tokens: CONTEXT - 4000,
  }),
  accepted('a long text that may well fit', { prompt: 'a few words '.repeat(2000), max_tokens: 1000 }),
  accepted('a text of spaces', { prompt: ' '.repeat(60_000), max_tokens: 4000 }),
  refused('more than the context', 'max_tokens', tooMuch, { max_tokens: CONTEXT + 1 }),
  refused('a token too many', 'max_tokens', tooMuch, { prompt: tokens(4000), max_tokens: CONTEXT - 3999 }),
  refused('one of several prompts too long', 'max_tokens', tooMuch, {
    prompt: [tokens(10), tokens(4001)],
    max_tokens: CONTEXT - 4000,
  }),
  refused('a text that cannot fit', 'max_tokens', tooMuch, {
    prompt: 'unquestionably '.repeat(4500),
    max_tokens: 1,
  }),
  accepted('an unknown model with any length', { model: 'nobody-knows', max_tokens: 10_000_000 }),
  accepted('a suffix of an instruct model', { suffix: ' the end' }),
  accepted('a suffix of an unknown model', { model: 'nobody-knows', suffix: ' the end' }),
  accepted('an empty suffix', { model: 'davinci-002', suffix: '' }),
  refused('a suffix of a chat model', 'suffix', /instruct type/, { model: 'gpt-4o', suffix: ' the end' }),
  refused('a suffix of a base model', 'suffix', /instruct type/, { model: 'davinci-002', suffix: 'x' }),
  {
    name: 'a stream is refused alike',
    method,
    body: { model: 'gpt-4o', prompt: 'x', suffix: 'y', stream: true },
    over: ['rest'],
    refused: invalid('suffix', /instruct type/),
  },
];
runCases(test, () => bench, CASES);

test('the catalogue is of providers that there are, and its figures are sound', (t) => {
  const models = openModelCatalogue();
  const providers = ['openai', 'anthropic', 'azure-openai', 'groq', 'mistral-ai', 'deepseek'];
  let known = 0;
  for (const provider of providers) {
    t.truthy(providerById(provider), provider);
    for (const model of models.modelsOf(provider)) {
      known++;
      const { context, output } = models.find(provider, model)!;
      for (const length of [context, output])
        t.true(length === undefined || (Number.isSafeInteger(length) && length > 0), `${provider}/${model}`);
    }
  }
  t.true(known > 300);
  t.is(models.find('openai', 'gpt-5')?.context, 400_000);
  t.true(models.find('anthropic', 'claude-sonnet-4-5')?.can?.includes('vision'));
  t.is(models.find('openai', '__proto__'), undefined);
  t.deepEqual(models.modelsOf('constructor'), []);
});
