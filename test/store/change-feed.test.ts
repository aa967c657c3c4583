// Changes told twice, late, out of order, not at all: a snapshot ends with what is stored and never goes backwards.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import fc from 'fast-check';
import { fail } from '../../src/lib/errors.ts';
import { type Change, type ChangeEvent, openChangeFeed } from '../../src/store/change-feed.ts';
import { defineCollection } from '../../src/store/collection.ts';
import { type DocumentStore, insertOperation, updateOperation } from '../../src/store/documents.ts';
import { follow } from '../../src/store/follow.ts';
import { noticedDocuments } from '../../src/store/noticed-documents.ts';
import { Replica } from '../../src/store/replica.ts';
import type { NoticeEvent } from '../../src/store/shared-state.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';

interface Thing {
  readonly n: number;
}
const things = defineCollection<Thing>({ name: 'things', schemaVersion: 1, noticed: true });
const others = defineCollection<Thing>({ name: 'others', schemaVersion: 1 });

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-feed-'));
const store = await openSqliteStore({ dataDir, collections: [things, others] });
test.after.always(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

let organisations = 0;
const freshScope = () => ({ organisationId: `o${organisations++}`, workspaceId: undefined });
const quiet = { onError: () => undefined };

async function until(what: () => boolean, ms = 60_000): Promise<boolean> {
  const end = performance.now() + ms;
  while (!what() && performance.now() < end) await sleep(1);
  return what();
}

/** A snapshot that writes down every version that it was given. */
function snapshot() {
  const history = new Map<string, number[]>();
  const now = new Map<string, { version: number; n: number; archived: boolean }>();
  return {
    history,
    now,
    replica: new Replica<Thing>(things, {
      row: (document) => document,
      changed: (_now, _before, { id, version, status, body }) => {
        history.set(id, [...(history.get(id) ?? []), version]);
        now.set(id, { version, n: body.n, archived: status === 'archived' });
      },
    }),
  };
}

/** Notices under the test's hand. */
function line() {
  const listeners = new Set<(event: NoticeEvent) => void>();
  const published: Change[] = [];
  return {
    published,
    tell: (event: NoticeEvent) => {
      for (const listener of listeners) listener(event);
    },
    state: {
      publish: async (change: Change) => void published.push(change),
      subscribe: (listener: (event: NoticeEvent) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  };
}

type Step =
  | { readonly kind: 'write' | 'archive'; readonly id: number; readonly own: boolean }
  | { readonly kind: 'tell'; readonly which: number; readonly times: number }
  | { readonly kind: 'missed' | 'fail' | 'slow' | 'wait' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('write' as const), id: fc.nat(3), own: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('archive' as const), id: fc.nat(3), own: fc.boolean() }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('tell' as const), which: fc.nat(40), times: fc.nat(2) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('missed', 'fail', 'slow', 'wait' as const) }) },
);

test('in whatever order changes come, a snapshot never goes backwards and ends right', async (t) => {
  t.timeout(240_000);
  await t.notThrowsAsync(
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 40 }), async (steps) => {
        const scope = freshScope();
        const elsewhere = store.documents;
        let failing = 0;
        let slow = 0;
        // Answers that come late are older than what is told meanwhile.
        const unsteady: Pick<DocumentStore, 'get' | 'page'> = {
          get: async (...call) => {
            if (failing > 0) {
              failing--;
              throw fail('store_unavailable', 'away');
            }
            const found = await elsewhere.get(...call);
            if (slow-- > 0) await sleep(3);
            return found;
          },
          page: async (...call) => {
            const page = await elsewhere.page(...call);
            if (slow-- > 0) await sleep(3);
            return page;
          },
        };
        const { state, tell } = line();
        const feed = openChangeFeed({ state, ...quiet });
        const own = noticedDocuments(elsewhere, feed);
        const { history, now, replica } = snapshot();
        const source = { feed, documents: unsteady, organisations: () => [scope.organisationId], ...quiet };
        const stop = await follow(source, [replica]);
        const made: Change[] = [];
        const stored = new Map<string, { version: number; n: number; archived: boolean }>();
        for (const [i, one] of steps.entries()) {
          if (one.kind === 'fail') failing += 2;
          if (one.kind === 'slow') slow = 3;
          if (one.kind === 'wait') await sleep(2);
          if (one.kind === 'missed') tell({ kind: 'missed' });
          if (one.kind === 'tell' && made.length > 0) {
            const notice = made[one.which % made.length] as Change;
            for (let again = 0; again <= one.times; again++) tell({ kind: 'changed', notice });
          }
          if (one.kind === 'write' || one.kind === 'archive') {
            const id = `t${one.id}`;
            const documents = one.own ? own : elsewhere;
            const before = stored.get(id);
            if (before?.archived || (one.kind === 'archive' && !before)) continue;
            const written =
              before === undefined
                ? await documents.insert(scope, things, { id, createdAt: 1, body: { n: i } })
                : one.kind === 'archive'
                  ? await documents.archive(scope, things, id, { updatedAt: 1 })
                  : await documents.update(scope, things, id, before.version, {
                      body: { n: i },
                      updatedAt: 1,
                    });
            const archived = written.status === 'archived';
            stored.set(id, { version: written.version, n: written.body.n, archived });
            const { organisationId, version } = written;
            made.push({ organisationId, collection: things.name, id, version });
          }
        }
        // Either the last of each is told, however late, or that something was missed.
        if (steps.length % 2 === 0) tell({ kind: 'missed' });
        else for (const notice of made.toReversed()) tell({ kind: 'changed', notice });
        const right = () => JSON.stringify([...now].sort()) === JSON.stringify([...stored].sort());
        const ended = await until(right);
        stop();
        await feed.close();
        for (const [id, versions] of history) {
          const rising = versions.every((version, i) => i === 0 || version > (versions[i - 1] as number));
          if (!rising) throw new Error(`${id} went backwards: ${versions}`);
        }
        if (!ended) throw new Error(`${JSON.stringify([...now])} is not ${JSON.stringify([...stored])}`);
      }),
      { numRuns: Number(process.env.SLUICE_PROPERTY_RUNS ?? 150) },
    ),
  );
});

test('the writer knows at once, the others are told, and what is not noticed stays quiet', async (t) => {
  const scope = freshScope();
  const { state, published, tell } = line();
  const feed = openChangeFeed({ state, ...quiet });
  const documents = noticedDocuments(store.documents, feed);
  const { now, replica } = snapshot();
  const organisationId = scope.organisationId;
  const source = { feed, documents, organisations: () => [organisationId], ...quiet };
  const stop = await follow(source, [replica]);
  const change = (version: number, id = 'a') => ({ organisationId, collection: 'things', id, version });
  await documents.insert(scope, things, { id: 'a', createdAt: 1, body: { n: 1 } });
  t.deepEqual(now.get('a'), { version: 1, n: 1, archived: false });
  await documents.update(scope, things, 'a', 1, { body: { n: 2 }, updatedAt: 2 });
  t.is(now.get('a')?.n, 2);
  await documents.insert(scope, others, { id: 'x', createdAt: 1, body: { n: 1 } });
  await documents.commit(scope, [
    insertOperation(others, { id: 'y', createdAt: 1, body: { n: 1 } }),
    insertOperation(things, { id: 'b', createdAt: 1, body: { n: 5 } }),
    updateOperation(things, 'a', 2, { body: { n: 3 }, updatedAt: 3 }),
  ]);
  t.deepEqual([now.get('a')?.n, now.get('b')?.n], [3, 5]);
  await documents.archive(scope, things, 'a', { updatedAt: 4 });
  t.deepEqual(now.get('a'), { version: 4, n: 3, archived: true });
  t.deepEqual(published, [change(1), change(2), change(1, 'b'), change(3), change(4)]);
  await t.throwsAsync(documents.update(scope, things, 'b', 9, { body: { n: 9 }, updatedAt: 9 }));
  t.is(published.length, 5, 'what was not written is not told');
  tell({ kind: 'changed', notice: change(99, 'nobody') });
  tell({ kind: 'changed', notice: { ...change(1), collection: 'others', id: 'x' } });
  await sleep(300);
  t.deepEqual([...now.keys()], ['a', 'b']);
  stop();
  await documents.update(scope, things, 'b', 1, { body: { n: 6 }, updatedAt: 9 });
  t.is(now.get('b')?.n, 5);
  await feed.close();
});

test('an archived document is found after a gap, and a write of unknown outcome is looked for', async (t) => {
  const scope = freshScope();
  const { state, tell } = line();
  const feed = openChangeFeed({ state, ...quiet });
  const { now, replica } = snapshot();
  await store.documents.insert(scope, things, { id: 'a', createdAt: 1, body: { n: 1 } });
  const organisations = () => [scope.organisationId];
  const source = { feed, documents: store.documents, organisations, ...quiet };
  const stop = await follow(source, [replica]);
  t.is(now.get('a')?.version, 1);
  await store.documents.archive(scope, things, 'a', { updatedAt: 2 });
  tell({ kind: 'missed' });
  t.true(await until(() => now.get('a')?.archived === true));

  const lost: DocumentStore = {
    ...store.documents,
    insert: async (...call) => {
      await store.documents.insert(...call);
      throw fail('store_unavailable', 'nobody knows');
    },
  };
  const write = noticedDocuments(lost, feed).insert(scope, things, { id: 'b', createdAt: 1, body: { n: 1 } });
  await t.throwsAsync(write);
  t.true(await until(() => now.has('b')));
  stop();
  await feed.close();
});

test('where the store tells for sure, a gap of the shared line is none', async (t) => {
  const { state, tell } = line();
  let watcher: ((event: ChangeEvent) => void) | undefined;
  let stopped = 0;
  const feed = openChangeFeed({
    state,
    watch: (told) => {
      watcher = told;
      return async () => void stopped++;
    },
    ...quiet,
  });
  const heard: string[] = [];
  feed.subscribe([things], ({ kind }) => heard.push(kind));
  feed.subscribe([things], () => {
    throw new Error('a listener that fails');
  });
  tell({ kind: 'missed' });
  t.deepEqual(heard, []);
  watcher?.({ kind: 'resynced' });
  const change = { organisationId: 'o', collection: 'things', id: 'a', version: 1 };
  watcher?.({ kind: 'changed', change });
  tell({ kind: 'changed', notice: change });
  watcher?.({ kind: 'changed', change: { ...change, collection: 'others' } });
  t.deepEqual(heard, ['resynced', 'changed', 'changed']);
  await feed.close();
  t.is(stopped, 1);
});

test('a gap that cannot be read keeps no change from being read, and is read when it can be', async (t) => {
  const scope = freshScope();
  const { state, tell } = line();
  const feed = openChangeFeed({ state, ...quiet });
  const { now, replica } = snapshot();
  let away = false;
  const documents: DocumentStore = {
    ...store.documents,
    page: (...call) =>
      away ? Promise.reject(fail('store_unavailable', 'away')) : store.documents.page(...call),
  };
  const { organisationId } = scope;
  const organisations = () => [organisationId];
  const stop = await follow({ feed, documents, organisations, ...quiet }, [replica]);
  away = true;
  for (const id of ['a', 'b'])
    await store.documents.insert(scope, things, { id, createdAt: 1, body: { n: 1 } });
  tell({ kind: 'missed' });
  tell({ kind: 'changed', notice: { organisationId, collection: 'things', id: 'a', version: 1 } });
  t.true(await until(() => now.has('a')));
  t.false(now.has('b'));
  away = false;
  t.true(await until(() => now.has('b')));
  stop();
  await feed.close();
});

test('a first reading that fails is the start that fails', async (t) => {
  const feed = openChangeFeed(quiet);
  const page = () => Promise.reject(fail('store_unavailable', 'away'));
  const documents = { ...store.documents, page };
  const source = { feed, documents, organisations: () => ['o'], ...quiet };
  await t.throwsAsync(follow(source, [snapshot().replica]), { message: 'away' });
});
