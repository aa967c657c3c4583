// Every provider of OpenAI's wire reads the recordings of that wire as OpenAI's own entry does: whole, streamed, cut at
// odd places, with its oddities (nulls, empty choices, comments, a missing end, errors inside of a good status).
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';
import { providers } from '../../src/providers/catalog/registry.ts';
import { has } from '../../src/providers/offered.ts';
import { dialects, GoldenCase } from './support/golden.ts';
import { pieces, seeded } from './support/random.ts';

const ROOT = path.join(import.meta.dirname, 'golden/openai');

/** Recordings of no provider's own: chat, without options. */
const cases = readdirSync(ROOT).filter((name) => {
  const file = path.join(ROOT, name, 'case.json');
  if (!existsSync(file)) return true;
  const {
    provider = 'openai',
    operation = 'chat',
    options,
  } = JSON.parse(readFileSync(file, 'utf8')) as {
    provider?: string;
    operation?: string;
    options?: object;
  };
  return provider === 'openai' && operation === 'chat' && options === undefined;
});

const shared = providers.filter(
  (entry) =>
    entry.dialect === 'openai' && entry.id !== 'openai' && has(entry, dialects.get('openai')!, 'chat'),
);

test('the wire is shared by most providers', (t) => {
  t.true(shared.length > 40);
  t.true(cases.length > 20);
});

for (const { id } of shared)
  test(`${id} reads the recordings of its wire`, (t) => {
    for (const name of cases) {
      const folder = path.join(ROOT, name);
      const [own, theirs] = [new GoldenCase(folder, 'openai'), new GoldenCase(folder, 'openai', id)];
      const bytes = own.streamBytes();
      if (bytes !== undefined) {
        const expected = told(own.stream([bytes]));
        t.deepEqual(told(theirs.stream([bytes])), expected, `${name}: streamed`);
        const cut = pieces(bytes, seeded(id.length + bytes.length), 7);
        t.deepEqual(told(theirs.stream(cut)), expected, `${name}: cut`);
      }
      if (own.answerFile() !== undefined)
        t.deepEqual(told(theirs.whole()), told(own.whole()), `${name}: whole`);
      for (const { file, status } of own.errors())
        t.deepEqual(
          theirs.dialect.error(status, theirs.bytes(file)),
          own.dialect.error(status, own.bytes(file)),
          `${name}: ${file}`,
        );
    }
  });

/** Without the provider's name, and without counts: who must be asked for them does not show them unasked. */
function told(outcome: unknown): unknown {
  const {
    error,
    usage: _usage,
    chunks,
    ...rest
  } = outcome as {
    readonly error?: { readonly provider?: string };
    readonly usage?: unknown;
    readonly chunks?: readonly { readonly choices: readonly unknown[]; readonly usage?: unknown }[];
  };
  const { provider: _, ...words } = error ?? {};
  const said = chunks?.filter(({ choices }) => choices.length > 0).map(({ usage: __, ...chunk }) => chunk);
  return {
    ...rest,
    ...(said === undefined ? {} : { chunks: said }),
    ...(error === undefined ? {} : { error: words }),
  };
}
