// The request log port's contract: every adapter runs it.
import type { TestFn } from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import type { LogFilter, LogPageRequest, RequestLogStore } from '../../src/store/request-log.ts';
import { freshScope } from './documents.contract.ts';
import { logEntry } from './log-entries.ts';

const FIRST: LogPageRequest = { page: 0, pageSize: 100, order: 'asc' };

/** Registers the contract. `open` is called once per test and may answer the same store each time. */
export function requestLogContract(test: TestFn, open: () => Promise<RequestLogStore>): void {
  test('entries come back whole, in order, to their tenant only', async (t) => {
    const store = await open();
    const [one, two] = [freshScope(), freshScope()];
    const entry = (id: string, createdAt: number, more: Partial<RequestRecord> = {}): RequestRecord =>
      logEntry({ id, createdAt, organisationId: one.organisationId, ...more });
    const text = 'line\nbreak \u0000 "quotes" ünï';
    const entries = [
      entry('a', 30),
      entry('b', 10, { metadata: { text } }),
      entry('c', 20, { workspaceId: 'ws-2' }),
    ];
    await store.append(entries);
    await store.append([entry('d', 15, { organisationId: two.organisationId })]);
    const page = await store.page(one, {}, FIRST);
    t.deepEqual(page, {
      total: 3,
      totalCapped: false,
      entries: [entries[1], entries[2], entries[0]] as RequestRecord[],
    });
    const newest = await store.page(one, {}, { page: 0, pageSize: 2, order: 'desc' });
    t.deepEqual(
      newest.entries.map((found) => found.id),
      ['a', 'c'],
    );
    const inside = await store.page({ ...one, workspaceId: 'ws-2' }, {}, FIRST);
    t.deepEqual(
      inside.entries.map((found) => found.id),
      ['c'],
    );
    t.is((await store.page({ ...two, workspaceId: 'ws-2' }, {}, FIRST)).total, 0);
    t.is((await store.page(freshScope(), {}, FIRST)).total, 0);
  });

  test('costs, estimates and the models that answered come back as they were, of each attempt', async (t) => {
    const store = await open();
    const scope = freshScope();
    const [attempt] = logEntry({ id: 'x' }).attempts;
    const cost = '123456789012345678901';
    const entries = [
      logEntry({
        id: 'a',
        organisationId: scope.organisationId,
        cost,
        usageEstimated: true,
        unpriced: true,
        attempts: [
          { ...attempt!, id: '1', cost, responseModel: 'gpt-4o-mini-2024-07-18' },
          { ...attempt!, id: '2', cost: '7', responseModel: 'another', usageEstimated: true },
          { ...attempt!, id: '3', unpriced: true },
        ],
      }),
      logEntry({ id: 'b', organisationId: scope.organisationId, cost: '0' }),
    ];
    await store.append(entries);
    t.deepEqual((await store.page(scope, {}, FIRST)).entries, entries);
  });

  test('an entry that is sent again is kept once', async (t) => {
    const store = await open();
    const scope = freshScope();
    const batch = ['a', 'b', 'c'].map((id) => logEntry({ id, organisationId: scope.organisationId }));
    await store.append(batch.slice(0, 2));
    await store.append(batch);
    await Promise.all([store.append(batch), store.append(batch), store.append([])]);
    t.is((await store.page(scope, {}, FIRST)).total, 3);
  });

  test('filters hold together', async (t) => {
    const store = await open();
    const scope = freshScope();
    const codes = [200, 404, 429, 200];
    await store.append(
      Array.from({ length: 40 }, (_, i) =>
        logEntry({
          id: `e${String(i).padStart(2, '0')}`,
          organisationId: scope.organisationId,
          workspaceId: `w${i % 2}`,
          createdAt: 1000 + i,
          statusCode: codes[i % 4] as number,
          traceId: `t${i % 10}`,
        }),
      ),
    );
    const ids = async (
      filter: LogFilter,
      workspaceId?: string,
      order: 'asc' | 'desc' = 'asc',
    ): Promise<string> => {
      const within = { organisationId: scope.organisationId, workspaceId };
      const page = await store.page(within, filter, { ...FIRST, order });
      t.is(page.total, page.entries.length);
      return page.entries.map((entry) => entry.id.slice(1)).join(' ');
    };
    t.is(await ids({ from: 1005, until: 1008 }), '05 06 07');
    t.is(await ids({ statusCodes: [404], until: 1010 }), '01 05 09');
    t.is(await ids({ statusCodes: [404, 429, 404], until: 1010 }, undefined, 'desc'), '09 06 05 02 01');
    t.is(await ids({ statusCodes: [429, 200], until: 1008 }), '00 02 03 04 06 07');
    t.is(await ids({ statusCodes: [404], until: 1010 }, 'w1'), '01 05 09');
    t.is(await ids({ statusCodes: [404] }, 'w0'), '');
    t.is(await ids({ traceIds: ['t3'] }), '03 13 23 33');
    t.is(await ids({ traceIds: ['t3', 't4'], from: 1010 }, undefined, 'desc'), '34 33 24 23 14 13');
    t.is(await ids({ traceIds: ['t4'], statusCodes: [429] }, 'w0'), '14 34');
    t.is(await ids({ traceIds: ["' OR 1=1 --"] }), '');
  });

  test('pages hold every entry once, also those of one millisecond', async (t) => {
    const store = await open();
    const scope = freshScope();
    const total = 230;
    await store.append(
      Array.from({ length: total }, (_, i) =>
        logEntry({
          id: `e${(i * 7919) % total}`,
          organisationId: scope.organisationId,
          createdAt: 5 + Math.floor(i / 100),
        }),
      ),
    );
    for (const workspaceId of [undefined, 'ws-1']) {
      for (const order of ['asc', 'desc'] as const) {
        const seen = new Set<string>();
        for (let page = 0; page < 5; page++) {
          const answer = await store.page({ ...scope, workspaceId }, {}, { page, pageSize: 50, order });
          for (const entry of answer.entries) seen.add(entry.id);
        }
        t.is(seen.size, total);
      }
    }
  });

  test('totals are capped, and what is out of bounds is a 400', async (t) => {
    const store = await open();
    const scope = freshScope();
    for (let portion = 0; portion < 11; portion++) {
      await store.append(
        Array.from({ length: 1000 }, (_, i) =>
          logEntry({ id: `${portion}-${i}`, organisationId: scope.organisationId }),
        ),
      );
    }
    const page = await store.page(scope, {}, { page: 1099, pageSize: 10, order: 'asc' });
    t.like(page, { total: 10_000, totalCapped: true });
    t.is(page.entries.length, 10);
    const status = async (filter: object, request: object): Promise<number> => {
      const error = await t.throwsAsync(store.page(scope, filter, { ...FIRST, ...request }));
      return error instanceof GatewayError ? error.status : 0;
    };
    t.is(await status({}, { pageSize: 1001 }), 400);
    t.is(await status({}, { page: 1001 }), 400);
    t.is(await status({}, { page: -1 }), 400);
    t.is(await status({}, { order: 'asc; --' }), 400);
    t.is(await status({ from: { $gt: 0 } }, {}), 400);
    t.is(await status({ statusCodes: ['200'] }, {}), 400);
    t.is(await status({ statusCodes: Array(101).fill(200) }, {}), 400);
    t.is(await status({ traceIds: [{ $gt: '' }] }, {}), 400);
  });
}
