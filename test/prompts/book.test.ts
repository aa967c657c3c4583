// Saved prompts in memory: found within their workspace, read once, kept within a bound.

import test from 'ava';
import { Contents } from '../../src/prompts/contents.ts';
import { PromptCatalogue } from '../../src/prompts/prompt-catalogue.ts';
import {
  type PartialBody,
  type PromptBody,
  type PromptContent,
  partials,
  partialVersions,
  prompts,
  promptVersions,
  versionSlug,
} from '../../src/prompts/prompt-collections.ts';
import { PromptReplica } from '../../src/prompts/prompt-replica.ts';
import type { Document, DocumentStore } from '../../src/store/documents.ts';
import { applyDocument } from '../support/apply-document.ts';

const TENANT = { organisationId: 'o', workspaceId: 'w' };

function document<B extends object>(id: string, slug: string, body: B, version = 1): Document<B> {
  const times = { createdAt: 1, updatedAt: version, schemaVersion: 1 };
  return { id, slug, ...TENANT, version, status: 'active', ...times, body };
}

/** Documents that count how often they are read. */
class Reads {
  count = 0;
  readonly #bySlug = new Map<string, Document<object>>();

  put(collection: { readonly name: string }, one: Document<object>): void {
    this.#bySlug.set(`${collection.name} ${one.slug}`, one);
  }

  readonly port = {
    get: async (_scope: unknown, collection: { readonly name: string }, slug: string) => {
      this.count++;
      await new Promise((resolve) => setImmediate(resolve));
      return this.#bySlug.get(`${collection.name} ${slug}`);
    },
  } as unknown as Pick<DocumentStore, 'get'>;
}

function replicaWith(reads: Reads, contents: readonly PromptContent[], body: Partial<PromptBody> = {}) {
  const replica = new PromptReplica();
  const own = { name: 'n', collectionId: 'c', latest: contents.length, published: 1, ...body };
  applyDocument(replica, prompts.name, document<PromptBody>('id', 'pp-n', own));
  for (const [i, content] of contents.entries()) {
    const slug = versionSlug('id', i + 1);
    reads.put(promptVersions, document(slug, slug, { promptId: 'id', number: i + 1, content }));
  }
  return replica;
}

const input = { variables: { x: '1' }, parameters: {} };

test('a version is read once, however many ask for it at once', async (t) => {
  const reads = new Reads();
  const book = new PromptCatalogue(replicaWith(reads, [{ string: 'a{{x}}' }]), reads.port);
  const filled = await Promise.all(Array.from({ length: 20 }, () => book.fill(TENANT, 'pp-n', input)));
  t.true(filled.every(({ json }) => json.prompt === 'a1'));
  await book.fill(TENANT, 'id@1', input);
  t.is(reads.count, 1);
});

test('a failed read is not kept', async (t) => {
  const reads = new Reads();
  const replica = replicaWith(reads, [{ string: 'a' }]);
  let broken = true;
  const book = new PromptCatalogue(replica, {
    get: (...args) => (broken ? Promise.reject(new Error('away')) : reads.port.get(...args)),
  });
  await t.throwsAsync(book.fill(TENANT, 'pp-n', input), { message: 'away' });
  broken = false;
  t.is((await book.fill(TENANT, 'pp-n', input)).json.prompt, 'a');
});

test('what was not used for long is read anew when there is too much', async (t) => {
  const reads = new Reads();
  const contents = Array.from({ length: 8 }, (_, i) => ({ string: `${i}${'x'.repeat(4000)}` }));
  const kept = new Contents(reads.port, 20_000);
  const book = new PromptCatalogue(replicaWith(reads, contents), reads.port, kept);
  for (let i = 1; i <= 8; i++) await book.fill(TENANT, `pp-n@${i}`, input);
  t.is(kept.size, 3);
  await book.fill(TENANT, 'pp-n@8', input);
  t.is(reads.count, 8);
  await book.fill(TENANT, 'pp-n@1', input);
  t.is(reads.count, 9);
});

test('a change of the prompt acts at once', async (t) => {
  const reads = new Reads();
  const replica = replicaWith(reads, [
    { string: 'one', virtualKey: 'a' },
    { string: 'two', virtualKey: 'b' },
  ]);
  const book = new PromptCatalogue(replica, reads.port);
  t.like(await book.fill(TENANT, 'pp-n', input), { version: 1, virtualKey: 'a', slug: 'pp-n' });
  const body = { name: 'n', collectionId: 'c', latest: 2, published: 2 };
  applyDocument(replica, prompts.name, document<PromptBody>('id', 'pp-n', body, 2));
  t.like(await book.fill(TENANT, 'pp-n', input), { version: 2, virtualKey: 'b' });
  // A provider that was given without a version is that of all versions there were.
  applyDocument(
    replica,
    prompts.name,
    document<PromptBody>('id', 'pp-n', { ...body, provider: { slug: 'c', through: 1 } }, 3),
  );
  t.is((await book.fill(TENANT, 'pp-n@1', input)).virtualKey, 'c');
  t.is((await book.fill(TENANT, 'pp-n@2', input)).virtualKey, 'b');
  applyDocument(replica, prompts.name, {
    ...document<PromptBody>('id', 'pp-n', body, 4),
    status: 'archived',
  });
  await t.throwsAsync(book.fill(TENANT, 'pp-n', input), { message: /no prompt/ });
});

test("another tenant's prompts are none", async (t) => {
  const reads = new Reads();
  const book = new PromptCatalogue(replicaWith(reads, [{ string: 'a' }]), reads.port);
  for (const tenant of [
    { organisationId: 'o', workspaceId: 'other' },
    { organisationId: 'other', workspaceId: 'w' },
    { organisationId: 'o', workspaceId: undefined },
  ])
    for (const name of ['pp-n', 'id'])
      await t.throwsAsync(book.fill(tenant, name, input), { message: /no prompt/ });
  t.is(reads.count, 0);
});

test('defaults of variables are no parameters, also of those that only a partial has', async (t) => {
  const reads = new Reads();
  const parameters = { a: 'A', b: { deep: 1 }, user: 'me', top_k: 3, n: null };
  const replica = replicaWith(reads, [{ string: '{{a}} {{user}} {{>pp-p}}', parameters }]);
  const part: PartialBody = { name: 'p', collectionId: 'c', latest: 1, published: 1 };
  applyDocument(replica, partials.name, document<PartialBody>('pid', 'pp-p', part));
  const slug = versionSlug('pid', 1);
  reads.put(partialVersions, document(slug, slug, { partialId: 'pid', number: 1, string: '{{b.deep}}' }));
  const { json } = await new PromptCatalogue(replica, reads.port).fill(TENANT, 'pp-n', {
    variables: {},
    parameters: {},
  });
  t.deepEqual(json, { prompt: 'A me 1', user: 'me', top_k: 3 });
});
