// The books' port as a whole, against the plain model of it: pages, sums, bodies, feedback, corrections, retention.
import type { TestFn } from 'ava';
import fc from 'fast-check';
import type { AttemptRecord, RequestRecord } from '../../src/call/record.ts';
import type { TenantScope } from '../../src/call/scope.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import type { LogAggregate } from '../../src/store/log/aggregation.ts';
import { encodeEntry } from '../../src/store/log/entry-text.ts';
import {
  type BodiesRecord,
  type FeedbackGrouping,
  type FeedbackRecord,
  type FeedbackTotals,
  type LogStore,
  SHOWN_FEEDBACK,
} from '../../src/store/log-store.ts';
import type { LogFilter, LogPageRequest } from '../../src/store/request-log.ts';
import { freshScope } from './documents.contract.ts';
import { logEntry } from './log-entries.ts';
import { logModel } from './log-model.ts';
import { aggregations, facetsQuestions, filters, traffic } from './log-traffic.ts';
import { plainRollup } from './plain-rollup.ts';

const DAY_MS = 86_400_000;
/** Over the end of a month. */
const BEGIN = Date.UTC(2024, 1, 29);
const DAYS = 2;
/** A search that no clock ends, however slow the machine is. */
const UNHURRIED = { ms: 600_000, countAll: true } as const;

export interface LogContractOptions {
  /** What the store does behind its port in its own time: sums made, and the like. */
  readonly settle?: (() => Promise<void>) | undefined;
  readonly runs?: number;
  readonly entries?: number;
}

/** Registers the contract. `open` is called once per test and may answer the same store each time. */
export function logContract(
  test: TestFn,
  open: () => Promise<LogStore>,
  options: LogContractOptions = {},
): void {
  const { settle = async () => undefined, runs = 60, entries: count = 150 } = options;

  /** A store and the model with the same random traffic and feedback of an organisation of its own. */
  async function filled(
    seed: number,
  ): Promise<{ store: LogStore; model: LogStore; scope: TenantScope; all: RequestRecord[] }> {
    const store = await open();
    const model = logModel();
    const scope = freshScope();
    const [all = []] = fc.sample(traffic(scope.organisationId, BEGIN, DAYS, count), { numRuns: 1, seed });
    const late = Math.floor(count * 0.8);
    const likes = [...new Set(all.map(({ traceId }) => traceId))]
      .slice(0, 8)
      .map((traceId, i) =>
        feedbackFor(scope, traceId, i, i % 3 ? all.find((entry) => entry.traceId === traceId) : undefined),
      );
    // More than is shown of one trace, of several people and workspaces, some at the same time.
    for (let i = 0; i < 45; i++) {
      const entry = i % 4 ? all.filter(({ traceId }) => traceId === 'trace-1')[i % 3] : undefined;
      likes.push({
        ...feedbackFor(scope, 'trace-1', 1000 - i, entry),
        workspaceId: `ws-${i % 2}`,
        apiKeyId: `key-${i % 3}`,
        createdAt: BEGIN + (i >> 1),
      });
    }
    await store.append(all.slice(0, late));
    await settle();
    await store.append(all.slice(late).map((entry, i) => (i % 2 ? encodeEntry(entry) : entry)));
    await store.addFeedback(likes);
    await model.append(all);
    await model.addFeedback(likes);
    return { store, model, scope, all };
  }

  test('pages by any filter are those of the model', async (t) => {
    const { store, model, scope } = await filled(11);
    await fc.assert(
      fc.asyncProperty(
        filters(BEGIN, DAYS),
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.constantFrom(undefined, 'ws-1'),
        fc.constantFrom(7, 60, 1000),
        async (filter, order, workspaceId, pageSize) => {
          const within = { ...scope, workspaceId };
          const wanted = await model.page(within, filter, { page: 0, pageSize: 1000, order });
          const found: RequestRecord[] = [];
          let after: string | undefined;
          do {
            const request = { page: 0, pageSize, order, ...(after === undefined ? {} : { after }) };
            const page = await store.page(within, filter, request);
            t.is(
              page.total,
              wanted.total,
              JSON.stringify(filter, (_, v) => (typeof v === 'bigint' ? String(v) : v)),
            );
            t.false(page.totalCapped);
            found.push(...page.entries);
            after = page.next;
          } while (after !== undefined);
          t.deepEqual(byId(found), byId(wanted.entries));
          const sign = order === 'asc' ? 1 : -1;
          const times = found.map(({ createdAt }) => createdAt);
          t.deepEqual(
            times,
            times.toSorted((a, b) => sign * (a - b)),
          );
        },
      ),
      { numRuns: runs, seed: 5 },
    );
  });

  test('numbered pages hold what pages by cursor hold', async (t) => {
    const { store, scope } = await filled(12);
    for (const filter of [{}, { statusCodes: [200, 404] }, { providers: ['openai'], models: ['m1', 'm2'] }]) {
      for (const order of ['asc', 'desc'] as const) {
        const whole = await store.page(scope, filter, { page: 0, pageSize: 1000, order });
        const numbered: RequestRecord[] = [];
        for (let page = 0; page < Math.ceil(whole.total / 20) + 1; page++) {
          const answer = await store.page(scope, filter, { page, pageSize: 20, order, count: false });
          t.is(answer.total, 0);
          numbered.push(...answer.entries);
        }
        t.deepEqual(numbered, [...whole.entries]);
      }
    }
  });

  test('sums by anything are those of the model', async (t) => {
    const { store, model, scope } = await filled(13);
    await settle();
    await fc.assert(
      fc.asyncProperty(
        filters(BEGIN, DAYS),
        aggregations,
        fc.constantFrom(undefined, 'ws-1'),
        async (filter, aggregation, workspaceId) => {
          const within = { ...scope, workspaceId };
          const found = await store.aggregate(within, filter, aggregation);
          const wanted = await model.aggregate(within, filter, aggregation);
          t.deepEqual(plainSums(found), plainSums(wanted));
        },
      ),
      { numRuns: runs * 2, seed: 6 },
    );
  });

  test('facets are what counting the entries one by one comes to', async (t) => {
    const { store, model, scope } = await filled(18);
    await fc.assert(
      fc.asyncProperty(
        filters(BEGIN, DAYS),
        facetsQuestions,
        fc.constantFrom(undefined, 'ws-1'),
        async (filter, question, workspaceId) => {
          const within = { ...scope, workspaceId };
          t.deepEqual(
            await store.facets(within, filter, question),
            await model.facets(within, filter, question),
          );
        },
      ),
      { numRuns: runs, seed: 9 },
    );
    const { metadataNames } = await store.facets(scope, {}, { by: [], take: 0, names: 2 });
    t.is(metadataNames.length, 2);
    const other = await store.facets(freshScope(), {}, { by: ['model'], take: 50, names: 500 });
    t.deepEqual(other, { facets: [{ values: [] }], metadataNames: [] }, 'of another organisation');
  });

  test('histograms that are not asked for change nothing else', async (t) => {
    const { store, model, scope } = await filled(17);
    await settle();
    const asked = fc.sample(fc.tuple(filters(BEGIN, DAYS), aggregations), { numRuns: 12, seed: 8 });
    for (const [filter, aggregation] of [[{}, {}] as const, [{}, { by: ['model'] }] as const, ...asked]) {
      const found = await store.aggregate(scope, filter, { ...aggregation, latencies: false });
      const bare = ({ rows, ...rest }: LogAggregate): object =>
        plainSums({
          ...rest,
          rows: rows.map((row) => ({ ...row, rollup: { ...row.rollup, latencies: new Map() } })),
        });
      t.deepEqual(bare(found), bare(await model.aggregate(scope, filter, aggregation)));
    }
  });

  test('an entry is had by its id, in its scope alone', async (t) => {
    const { store, scope, all } = await filled(14);
    for (const entry of all.slice(0, 10)) {
      t.deepEqual(await store.get(scope, entry.id), entry);
      t.deepEqual(await store.get(scope, entry.id, entry.createdAt), entry);
      t.deepEqual(await store.get({ ...scope, workspaceId: entry.workspaceId }, entry.id), entry);
      t.is(await store.get({ ...scope, workspaceId: 'other' }, entry.id), undefined);
      t.is(await store.get(freshScope(), entry.id, entry.createdAt), undefined);
    }
    t.is(await store.get(scope, 'none'), undefined);
  });

  test('bodies are kept once and whole, in their scope alone', async (t) => {
    const store = await open();
    const scope = freshScope();
    const bodies = (id: string, text: string): BodiesRecord => ({
      id,
      organisationId: scope.organisationId,
      workspaceId: 'ws-1',
      createdAt: BEGIN + 5,
      request: { method: 'POST', url: '/v1/x', headers: { a: 'ü' }, body: text },
      response: { status: 200, body: 'AAEC', base64: true, truncated: 7 },
      hooks: '{}',
    });
    await store.appendBodies([bodies('a', 'x'.repeat(200_000)), { ...bodies('b', '\0 "'), keepDays: 3 }]);
    await store.appendBodies([bodies('a', 'again'), bodies('c', ''), bodies('c', '')]);
    await store.appendBodies([]);
    t.is((await store.bodies(scope, 'a', BEGIN + 5))?.request.body, 'x'.repeat(200_000));
    t.deepEqual(await store.bodies(scope, 'b', BEGIN + 5), { ...bodies('b', '\0 "'), keepDays: 3 });
    t.deepEqual(await store.bodies({ ...scope, workspaceId: 'ws-1' }, 'c', BEGIN + 5), bodies('c', ''));
    t.is(await store.bodies({ ...scope, workspaceId: 'ws-2' }, 'c', BEGIN + 5), undefined);
    t.is(await store.bodies(freshScope(), 'c', BEGIN + 5), undefined);
    t.is(await store.bodies(scope, 'c', BEGIN + 6), undefined);
  });

  test('a search finds what was said, in order, whatever its bounds', async (t) => {
    const store = await open();
    const scope = freshScope();
    const { organisationId } = scope;
    const all: RequestRecord[] = [];
    const bodies: BodiesRecord[] = [];
    const wanted: string[] = [];
    // Of two days, some of one millisecond; bodies that say it, that say something else, and none.
    for (let i = 0; i < 90; i++) {
      const id = `s${String(i).padStart(3, '0')}`;
      const createdAt = BEGIN + Math.floor(i / 3) * 3_000_000;
      const apiKeyId = `key-${i % 2}`;
      const workspaceId = `ws-${i % 5 === 0}`;
      const says = i % 4 === 0;
      const metadata: Record<string, string> = i % 9 === 1 ? { note: 'the Ünicorn "ran"' } : {};
      const entry = logEntry({ id, organisationId, createdAt, apiKeyId, workspaceId, metadata });
      all.push(i % 3 === 2 ? entry : { ...entry, bodies: true });
      if (i % 3 === 2) {
        if (i % 9 === 1) wanted.push(id);
        continue;
      }
      if (says || i % 9 === 1) wanted.push(id);
      const text = says ? 'Once a ÜNICORN "ran" away' : 'Once a horse';
      const body = JSON.stringify({ arguments: JSON.stringify({ text }) }).replace('Ü', '\\u00dc');
      const messages = [{ response: { body } }, { originalResponse: { body }, response: {} }] as const;
      bodies.push({
        ...{ id, organisationId, workspaceId, createdAt, request: { body: '{}' } },
        ...messages[i % 2],
        ...(i % 7 === 0 ? { keepDays: 400 } : {}),
      } as BodiesRecord);
    }
    await store.append(all.slice(0, 40));
    await store.appendBodies(bodies.slice(0, 30));
    await settle();
    await store.append(all.slice(40));
    await store.appendBodies(bodies.slice(30));
    const found = async (
      filter: LogFilter,
      request: Partial<LogPageRequest>,
      within: TenantScope = scope,
    ): Promise<{ ids: string[]; short: number }> => {
      const ids: string[] = [];
      let short = 0;
      for (let after: string | undefined, pages = 0; ; pages++) {
        const page = await store.page(within, filter, {
          ...{ page: 0, pageSize: 7, order: 'asc', bodies: {} },
          ...request,
          ...(after === undefined ? {} : { after }),
        });
        ids.push(...page.entries.map(({ id }) => id));
        if (page.searchedTo !== undefined) {
          short++;
          t.true(
            page.entries.length < (request.pageSize ?? 7) && page.totalCapped && page.next !== undefined,
          );
        }
        after = page.next;
        if (after === undefined || pages > 20_000) return { ids, short };
      }
    };
    const sorted = async (...given: Parameters<typeof found>): Promise<string[]> =>
      (await found(...given)).ids.sort();
    const filter = { text: 'üNicorn "RAN"' };
    for (const order of ['asc', 'desc'] as const) {
      const { ids } = await found(filter, { order });
      t.deepEqual(ids.toSorted(), wanted);
      const times = ids.map((id) => all.find((entry) => entry.id === id)?.createdAt ?? 0);
      t.deepEqual(times, order === 'asc' ? times.toSorted((a, b) => a - b) : times.toSorted((a, b) => b - a));
      // What stops after each body answers as much, page after page.
      for (const bounds of [{ bytes: 1 }, { ms: 0 }]) {
        const bounded = await found(filter, { order, bodies: bounds });
        t.deepEqual(bounded.ids, ids);
        t.true(bounded.short > 0);
      }
      const numbered = await store.page(scope, filter, { page: 2, pageSize: 5, order, bodies: UNHURRIED });
      t.deepEqual(
        numbered.entries.map(({ id }) => id),
        ids.slice(10, 15),
      );
    }
    const whole = await store.page(scope, filter, {
      page: 0,
      pageSize: 3,
      order: 'desc',
      bodies: UNHURRIED,
    });
    t.deepEqual([whole.total, whole.totalCapped, whole.searchedTo], [wanted.length, false, undefined]);
    // Bodies that are not asked for are not found, nor those of other keys, workspaces, organisations and times.
    const marked = all.filter(({ metadata }) => metadata.note !== undefined).map(({ id }) => id);
    const plain = await store.page(scope, filter, { page: 0, pageSize: 100, order: 'asc' });
    t.deepEqual(plain.entries.map(({ id }) => id).sort(), marked);
    const ofKey = (key: string) =>
      wanted.filter((id) => all.some((one) => one.id === id && one.apiKeyId === key));
    t.deepEqual(
      await sorted(filter, { bodies: { apiKeyId: 'key-0' } }),
      [...new Set([...ofKey('key-0'), ...marked])].sort(),
    );
    t.deepEqual(await sorted(filter, { bodies: { apiKeyId: 'none' } }), marked);
    t.deepEqual(await sorted({ ...filter, apiKeyIds: ['key-1'] }, {}), ofKey('key-1'));
    t.deepEqual(
      await sorted(filter, {}, { ...scope, workspaceId: 'ws-true' }),
      wanted.filter((id) => all.some((one) => one.id === id && one.workspaceId === 'ws-true')),
    );
    t.deepEqual(await sorted(filter, {}, freshScope()), []);
    const from = BEGIN + 12 * 3_000_000;
    t.deepEqual(
      await sorted({ ...filter, from }, {}),
      wanted.filter((id) => all.some((one) => one.id === id && one.createdAt >= from)),
    );
    t.deepEqual(await sorted({ text: 'unicorns' }, {}), []);
  });

  test('feedback is stored, changed and found by its entry', async (t) => {
    const { store, model, scope } = await filled(15);
    const first = (await model.getFeedback(scope, 'f0')) as FeedbackRecord;
    for (const one of [store, model]) {
      const changed = { ...first, value: -3, weight: 0.25, metadata: { why: 'ü' }, updatedAt: 99 };
      t.true(await one.updateFeedback(scope, changed));
      t.false(await one.updateFeedback({ ...scope, workspaceId: 'other' }, changed));
      t.false(await one.updateFeedback(scope, { ...changed, id: 'none' }));
    }
    t.deepEqual(await store.getFeedback(scope, first.id), await model.getFeedback(scope, first.id));
    t.is(await store.getFeedback(freshScope(), first.id), undefined);
    const traces = ['trace-1', 'trace-2', 'none'];
    const owners = [undefined, { userId: 'p1' }, { apiKeyId: 'key-1' }, { apiKeyId: 'none' }];
    for (const within of [scope, { ...scope, workspaceId: 'ws-1' }, freshScope()])
      for (const own of owners) {
        const found = await store.feedbackOf(within, [...traces, 'trace-1'], own);
        const wanted = await model.feedbackOf(within, traces, own);
        t.deepEqual(Object.fromEntries(found), Object.fromEntries(wanted));
      }
    t.is((await store.feedbackOf(scope, ['trace-1'])).get('trace-1')?.last.length, SHOWN_FEEDBACK);
    t.is((await store.feedbackOf(scope, [])).size, 0);
    await fc.assert(
      fc.asyncProperty(
        filters(BEGIN, DAYS),
        fc.constantFrom(undefined, 'ws-1'),
        fc.constantFrom<FeedbackGrouping>(
          ...([{ bucketMs: 420_000 }, { bucketMs: DAY_MS }, 'value', 'model'] as const),
          ...[{ metadata: 'env' }, { metadata: 'a=b' }, { metadata: 'k\ud83d' }],
        ),
        async (filter, workspaceId, by) => {
          const within = { ...scope, workspaceId };
          const byGroup = (sums: readonly FeedbackTotals[]) =>
            Object.fromEntries(sums.map((one) => [one.group, one]));
          t.deepEqual(
            byGroup(await store.sumFeedback(within, filter, by)),
            byGroup(await model.sumFeedback(within, filter, by)),
          );
        },
      ),
      { numRuns: runs * 2, seed: 7 },
    );
  });

  test('what had no price and has a cost now is not without a price any more', async (t) => {
    const { store, model, scope, all } = await filled(17);
    const [first] = all as [RequestRecord];
    const times = { organisationId: scope.organisationId, createdAt: first.createdAt };
    const attempt = { ...logEntry({ id: 'u' }).attempts[0], unpriced: true } as AttemptRecord;
    const unpriced = ['u-1', 'u-2'].map((id) => ({
      ...logEntry({ ...times, id, unpriced: true }),
      attempts: [
        { ...attempt, id: `${id}-1` },
        { ...attempt, id: `${id}-2` },
      ],
    }));
    const corrections = [
      { id: 'u-1', createdAt: first.createdAt, cost: '12', attempts: ['5', '7'] },
      { id: 'u-2', createdAt: first.createdAt, cost: '5', attempts: ['5', undefined] },
    ];
    for (const log of [store, model]) {
      await log.append(unpriced);
      t.is(await log.reprice(scope.organisationId, corrections), 2);
      const found = await Promise.all(['u-1', 'u-2'].map((id) => log.get(scope, id, first.createdAt)));
      t.deepEqual(
        found.map((entry) => [entry?.unpriced, ...(entry?.attempts ?? []).map((one) => one.unpriced)]),
        [
          [undefined, undefined, undefined],
          [true, undefined, true],
        ],
      );
    }
  });

  test('corrected costs are in entries and sums', async (t) => {
    const { store, model, scope, all } = await filled(16);
    await settle();
    const corrections = all.slice(0, 40).map(({ id, createdAt }, i) => ({
      id,
      createdAt: i === 3 ? createdAt + 1 : createdAt,
      cost: i % 5 ? String(i * 1_000_003) : undefined,
      attempts: [i % 5 ? String(i * 1_000_003) : undefined],
    }));
    for (let time = 0; time < 2; time++) {
      t.is(await store.reprice(scope.organisationId, corrections), 39);
      await model.reprice(scope.organisationId, corrections);
    }
    t.is(await store.reprice(freshScope().organisationId, corrections), 0);
    for (const filter of [{}, { cost: { min: 1n } }, { cost: { max: 0n } }] as LogFilter[]) {
      const request = { page: 0, pageSize: 1000, order: 'asc' } as const;
      const [found, wanted] = [
        await store.page(scope, filter, request),
        await model.page(scope, filter, request),
      ];
      t.deepEqual(byId(found.entries), byId(wanted.entries));
      for (let time = 0; time < 2; time++) {
        const by = { by: ['model' as const], bucketMs: DAY_MS };
        t.deepEqual(
          plainSums(await store.aggregate(scope, filter, by)),
          plainSums(await model.aggregate(scope, filter, by)),
        );
        await settle();
      }
    }
  });

  test('what is over is dropped, what is kept for fewer days before it', async (t) => {
    const store = await open();
    const scope = freshScope();
    // Of a time of its own: it drops what is older.
    const day = Date.UTC(1999, 0, 1) / DAY_MS;
    const at = (age: number, keepDays?: number): RequestRecord =>
      logEntry({
        id: `${age}-${keepDays}`,
        organisationId: scope.organisationId,
        createdAt: (day - age) * DAY_MS + 7,
        ...(keepDays === undefined ? {} : { keepDays }),
      });
    const all = [at(0), at(1), at(2), at(3), at(1, 1), at(2, 1), at(2, 2), at(1, 9)];
    const model = logModel();
    const retention = { logDays: 2, bodyDays: 1, metricDays: 1000 };
    for (const one of [store, model]) {
      await one.append(all);
      await one.appendBodies(
        all.map(({ id, organisationId, workspaceId, createdAt, keepDays }) => ({
          id,
          organisationId,
          workspaceId,
          createdAt,
          request: {},
          response: {},
          ...(keepDays === undefined ? {} : { keepDays }),
        })),
      );
    }
    for (const now of [(day + 1) * DAY_MS - 1, (day + 1) * DAY_MS, (day + 3) * DAY_MS]) {
      await store.expire(retention, now);
      await model.expire(retention, now);
      const request = { page: 0, pageSize: 100, order: 'asc' } as const;
      t.deepEqual(
        byId((await store.page(scope, {}, request)).entries),
        byId((await model.page(scope, {}, request)).entries),
      );
      for (const { id, createdAt } of all) {
        t.deepEqual(await store.bodies(scope, id, createdAt), await model.bodies(scope, id, createdAt));
      }
    }
    t.is((await store.page(scope, {}, { page: 0, pageSize: 9, order: 'asc' })).total, 0);
  });

  test('what cannot be asked is a 400 that names it', async (t) => {
    const store = await open();
    const scope = freshScope();
    const refused = async (call: Promise<unknown>): Promise<string | undefined> => {
      const error = await t.throwsAsync(call, { instanceOf: GatewayError });
      t.is(error?.reason, 'validation_failed');
      return error?.details.param;
    };
    const page = (filter: object, request: object = {}) =>
      store.page(scope, filter, { page: 0, pageSize: 1, order: 'asc', ...request });
    t.is(await refused(page({}, { after: 'none' })), 'after');
    t.is(await refused(page({ text: 'ab' })), 'text');
    t.is(await refused(page({ text: { $ne: '' } })), 'text');
    t.is(await refused(page({ models: [{ $gt: '' }] })), 'models');
    t.is(await refused(page({ metadata: { a: { $ne: 1 } } })), 'metadata');
    t.is(await refused(page({ outcomes: ['none'] })), 'outcomes');
    t.is(await refused(page({ cost: { min: { $gt: 0 } } })), 'cost');
    const sums = (aggregation: object) => store.aggregate(scope, {}, aggregation);
    t.is(await refused(sums({ bucketMs: 7 * 60_001 })), 'bucketMs');
    t.is(await refused(sums({ by: ['nothing'] })), 'by');
    t.is(await refused(sums({ by: ['model', 'provider', 'apiKey'] })), 'by');
    t.is(await refused(store.feedbackOf(scope, Array(1001).fill('t'))), 'traceIds');
    t.is(await refused(store.feedbackOf(scope, ['t'], {})), 'feedback');
    t.is(await refused(store.sumFeedback(scope, {}, { bucketMs: 0 })), 'bucketMs');
    t.is(await refused(store.sumFeedback(scope, {}, { metadata: { $ne: '' } as never })), 'by');
    t.is(await refused(store.sumFeedback(scope, { text: 'ab' }, 'value')), 'text');
    t.is(await refused(page({ feedback: { min: 0, own: { userId: { $ne: '' } } } })), 'feedback');
  });
}

function byId(entries: readonly RequestRecord[]): RequestRecord[] {
  return entries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Maps in order, and without the source. */
function plainSums({ source: _, ...aggregate }: LogAggregate): object {
  return {
    ...aggregate,
    rows: aggregate.rows.map((row) => ({
      ...row,
      rollup: plainRollup(row.rollup),
    })),
  };
}

function feedbackFor(
  { organisationId }: TenantScope,
  traceId: string,
  i: number,
  entry: RequestRecord | undefined,
): FeedbackRecord {
  return {
    id: `f${i}`,
    organisationId,
    workspaceId: entry?.workspaceId ?? 'ws-1',
    traceId,
    value: (i % 5) * 2 - 4,
    weight: i % 2 ? 1 : 0.5,
    metadata: { n: String(i) },
    createdAt: BEGIN + i * 10_000_000,
    updatedAt: BEGIN + i,
    apiKeyId: 'key-1',
    ...(i % 2 ? { userId: 'p1' } : {}),
    ...(entry === undefined ? {} : { entry: { ...entry, attempts: [] } }),
  };
}
