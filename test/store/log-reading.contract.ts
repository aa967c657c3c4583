// Reading the books: every adapter answers what plain arrays answer, over random traffic.
import type { ExecutionContext, TestFn } from 'ava';
import type { TenantScope } from '../../src/call/scope.ts';
import type { LogStore } from '../../src/store/log-store.ts';
import type { LogFilter, LogPage } from '../../src/store/request-log.ts';
import { freshScope } from './documents.contract.ts';
import { logModel } from './log-model.ts';
import { type Traffic, traffic } from './random-log.ts';

/** How many questions a property asks. */
const QUESTIONS = Number(process.env.SLUICE_LOG_QUESTIONS ?? 150);
const ENTRIES = 700;
const BATCH = 37;

export interface Pair {
  readonly store: LogStore;
  readonly model: LogStore;
  readonly scope: TenantScope;
  readonly random: Traffic;
}

/** The same traffic in a store and in the model. `settle` may put the store's entries where they come to lie in time. */
export async function pairOf(store: LogStore, seed: number, entries = ENTRIES): Promise<Pair> {
  const scope = freshScope();
  const model = logModel();
  const random = traffic(seed, scope.organisationId);
  const noise = traffic(seed + 1, freshScope().organisationId);
  for (let made = 0; made < entries; made += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, entries - made) }, random.entry);
    await model.append(batch);
    await store.append([...batch, noise.entry()]);
  }
  return { store, model, scope, random };
}

function scopeOf({ scope, random }: Pair): TenantScope {
  return random.chance(0.3) ? { ...scope, workspaceId: random.pick(['ws-1', 'ws-2', 'ws-9']) } : scope;
}

/** What a page says, but for the cursor, which is each adapter's own. */
function said({ next, ...page }: LogPage): object {
  return { ...page, more: next !== undefined };
}

/** @param questions how many a property asks: fewer where each takes long. */
export function logReadingContract(
  test: TestFn,
  open: () => Promise<LogStore>,
  questions: number = QUESTIONS,
): void {
  test('pages are what plain arrays say, whatever is asked', async (t) => {
    const pair = await pairOf(await open(), 11);
    for (let i = 0; i < questions; i++) {
      const scope = scopeOf(pair);
      const filter = pair.random.filter();
      const request = {
        page: pair.random.pick([0, 0, 1, 3]),
        pageSize: pair.random.pick([1, 10, 50, 1000]),
        order: pair.random.pick(['asc', 'desc'] as const),
      };
      const mine = await pair.store.page(scope, filter, request);
      t.deepEqual(
        said(mine),
        said(await pair.model.page(scope, filter, request)),
        shown({ scope, filter, request }),
      );
    }
  });

  test('cursors go through all that is meant, each once, in order', async (t) => {
    const pair = await pairOf(await open(), 12);
    for (let i = 0; i < questions / 10; i++) {
      const filter = pair.random.filter();
      const order = pair.random.pick(['asc', 'desc'] as const);
      const all = await pair.model.page(pair.scope, filter, { page: 0, pageSize: 1000, order });
      t.deepEqual(
        await everyId(t, pair, filter, order),
        all.entries.map(({ id }) => id),
        shown({ filter, order }),
      );
    }
  });

  test('a cursor holds its place when entries come meanwhile', async (t) => {
    const pair = await pairOf(await open(), 13, 100);
    const request = { page: 0, pageSize: 30, order: 'desc' } as const;
    const first = await pair.store.page(pair.scope, {}, request);
    const all = await pair.model.page(pair.scope, {}, { ...request, pageSize: 1000 });
    const newest = all.entries[0]!.createdAt + 1;
    await pair.store.append([{ ...pair.random.entry(), createdAt: newest }]);
    const second = await pair.store.page(pair.scope, {}, { ...request, after: first.next! });
    t.deepEqual([...first.entries, ...second.entries], all.entries.slice(0, 60));
    t.is(second.total, 101);
    t.is((await pair.store.page(pair.scope, {}, { ...request, count: false })).total, 0);
    await t.throwsAsync(pair.store.page(pair.scope, {}, { ...request, after: 'no cursor' }), {
      message: /after/,
    });
  });

  test('an entry is found by its id, by its tenant alone', async (t) => {
    const pair = await pairOf(await open(), 14, 100);
    const { entries } = await pair.model.page(pair.scope, {}, { page: 0, pageSize: 100, order: 'asc' });
    for (const entry of entries.filter((_, i) => i % 9 === 0)) {
      t.deepEqual(await pair.store.get(pair.scope, entry.id), entry);
      t.deepEqual(await pair.store.get(pair.scope, entry.id, entry.createdAt), entry);
      t.is(await pair.store.get(pair.scope, entry.id, entry.createdAt + 1), undefined);
      t.is(await pair.store.get(freshScope(), entry.id), undefined);
      t.is(await pair.store.get({ ...pair.scope, workspaceId: 'ws-9' }, entry.id), undefined);
    }
    t.is(await pair.store.get(pair.scope, 'none'), undefined);
  });
}

async function everyId(
  t: ExecutionContext,
  { store, scope }: Pair,
  filter: LogFilter,
  order: 'asc' | 'desc',
): Promise<string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < 200; pages++) {
    const page = await store.page(scope, filter, {
      page: 0,
      pageSize: 23,
      order,
      ...(after === undefined ? {} : { after }),
    });
    ids.push(...page.entries.map(({ id }) => id));
    if (page.next === undefined) return ids;
    after = page.next;
  }
  t.fail('a cursor without an end');
  return ids;
}

export function shown(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part));
}
