// Changes that are not stored yet: what is left to write, by who wrote it first.
import test from 'ava';
import { StagedDocuments } from '../../../src/admin/declared-state/staged-documents.ts';
import { defineCollection } from '../../../src/store/collection.ts';
import type { DocumentStore } from '../../../src/store/documents.ts';

const things = defineCollection<{ name: string }>({ name: 'things', schemaVersion: 1 });
const scope = { organisationId: 'o', workspaceId: undefined };
const nothing = () => Promise.reject(new Error('nothing is stored'));
const empty: DocumentStore = {
  get: async () => undefined,
  page: async () => ({ documents: [], total: 0, totalCapped: false }),
  findByUnique: async () => undefined,
  insert: nothing,
  update: nothing,
  archive: nothing,
  commit: nothing,
};

test('each owner has the documents that it wrote first, in their last form; what went again is not written', async (t) => {
  const staged = new StagedDocuments(empty, 'o', () => undefined);
  const insert = (id: string) => staged.insert(scope, things, { id, createdAt: 1, body: { name: id } });
  for (let owner = 1; owner <= 200; owner++) {
    staged.owner = owner;
    await insert(`a${owner}`);
    await insert(`b${owner}`);
  }
  staged.owner = 201;
  await staged.update(scope, things, 'a7', 1, { body: { name: 'later' }, updatedAt: 2 });
  await staged.archive(scope, things, 'b8', { updatedAt: 2 });
  const all = await staged.writes();
  t.is(all.length, 399);
  t.deepEqual(
    all.map(({ owner }) => owner),
    all.map(({ owner }) => owner).toSorted((a, b) => a - b),
  );
  for (let owner = 1; owner <= 201; owner++)
    t.deepEqual(
      staged.writesOf(owner),
      all.filter((write) => write.owner === owner),
    );
  t.deepEqual(staged.writesOf(201), []);
  t.is(staged.writesOf(8).length, 1);
  const [{ operation }] = staged.writesOf(7) as [(typeof all)[number]];
  t.like(operation, { kind: 'insert', document: { id: 'a7', body: { name: 'later' } } });
});
