// Which stored provider a model's name selects.
import test from 'ava';
import { type NamedProvider, selectByModel } from '../../../src/inference/plan/by-model.ts';
import { fail } from '../../../src/lib/errors.ts';
import { providerById } from '../../../src/providers/catalog/registry.ts';

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  openai: ['gpt-4o', 'o3'],
  'azure-openai': ['gpt-4o'],
  groq: ['openai/gpt-oss-120b', 'gpt-oss-20b'],
  google: ['gemini-2.5-flash'],
};
const knows = (provider: string, model: string): boolean => KNOWN[provider]?.includes(model) ?? false;
const stored = (slug: string, id = slug, more: Partial<NamedProvider> = {}): NamedProvider => ({
  slug,
  entry: providerById(id)!,
  ...more,
});
const of = (model: string, ...providers: NamedProvider[]) => selectByModel(providers, model, knows);
const OPENAI = stored('openai');
const AZURE = stored('azure', 'azure-openai');
const GROQ = stored('groq');
const GEMINI = stored('gemini', 'google');

test('a slug before the model selects, whatever the catalogue knows', (t) => {
  t.deepEqual(of('openai/gpt-4o', OPENAI, AZURE), { slug: 'openai', model: 'gpt-4o' });
  t.deepEqual(of('openai/ft:gpt-4o:mine', OPENAI, GROQ), { slug: 'openai', model: 'ft:gpt-4o:mine' });
  t.is(of('openai/gpt-4o', AZURE), undefined);
});

test('the identifier of the catalogue stands for the one provider that has it', (t) => {
  t.deepEqual(of('google/gemini-2.5-flash', OPENAI, GEMINI), { slug: 'gemini', model: 'gemini-2.5-flash' });
  t.throws(() => of('google/gemini-2.5-flash', GEMINI, stored('other', 'google')), {
    message: /@gemini\/gemini-2\.5-flash, @other\/gemini-2\.5-flash/,
  });
});

test('a bare model selects the one provider that has it, and several are named', (t) => {
  t.deepEqual(of('o3', OPENAI, AZURE, GROQ), { slug: 'openai', model: undefined });
  t.deepEqual(of('openai/gpt-oss-120b', GROQ, GEMINI), { slug: 'groq', model: undefined });
  t.is(of('nothing-of-the-kind', OPENAI, AZURE), undefined);
  t.throws(() => of('gpt-4o', OPENAI, AZURE), { message: /name one of @openai\/gpt-4o, @azure\/gpt-4o/ });
  t.throws(() => of('openai/gpt-oss-120b', OPENAI, GROQ), {
    message: /@openai\/gpt-oss-120b, @groq\/openai\/gpt-oss-120b/,
  });
});

test('what a provider may not be asked for does not count', (t) => {
  const refused = () => fail('forbidden', 'expired');
  const models = {
    restricted: true,
    named: ['o3'],
    allows: (model: string) => model === 'o3',
    hostOf: () => undefined,
    headersOf: () => [],
  };
  t.deepEqual(of('gpt-4o', OPENAI, { ...AZURE, refused }), { slug: 'openai', model: undefined });
  t.deepEqual(of('gpt-4o', { ...OPENAI, models }, AZURE), { slug: 'azure', model: undefined });
  const deployments = [
    { id: 'd1', alias: undefined, apiVersion: undefined, model: 'my-own', isDefault: true },
  ];
  t.deepEqual(of('my-own', { ...AZURE, deployments }, OPENAI), { slug: 'azure', model: undefined });
  t.deepEqual(of('gpt-4o', { ...AZURE, deployments }, OPENAI), { slug: 'openai', model: undefined });
});
