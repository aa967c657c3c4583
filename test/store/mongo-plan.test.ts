// Every query of the MongoDB adapter is a scan of one of its indexes, as the server's own plan says.
import test, { type ExecutionContext } from 'ava';
import type mongoose from 'mongoose';
import type { PageQuery } from '../../src/store/documents.ts';
import { bucketOf } from '../../src/store/mongo/log/bucket-name.ts';
import { entryMatch } from '../../src/store/mongo/log/entry-filter.ts';
import { entriesWithin, entrySort } from '../../src/store/mongo/log/entry-pages.ts';
import { rollupPipeline, uniquePipeline } from '../../src/store/mongo/log/group-pipeline.ts';
import { rollupCollection } from '../../src/store/mongo/log/stored-rollups.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import {
  type Filter,
  matching,
  matchingAfter,
  sortOf,
  tenantFilter,
} from '../../src/store/mongo/page-filter.ts';
import { checkPageQuery, encodeCursor } from '../../src/store/page-query.ts';
import type { LogFilter } from '../../src/store/request-log.ts';
import { mongoServer, reportMissing, type SharedMongo } from '../support/servers.ts';
import { widgets } from './documents.contract.ts';
import { logEntry } from './log-entries.ts';
import { dropDatabase, freshDatabase, withDatabase } from './mongo-database.ts';

const ROWS = 120;
const server = await mongoServer();
if (server === undefined) reportMissing(test, 'MongoDB');
else suite(server);

/** What a plan says, however deep: its stages, its indexes, what it read. */
interface Plan {
  readonly stages: readonly string[];
  readonly indexes: readonly string[];
  readonly keys: number;
  readonly text: string;
}

function suite(server: SharedMongo): void {
  const database = freshDatabase();
  const ready = seed(server.uri, database);
  test.after.always(() => dropDatabase(server, database));

  const explained = async (
    collection: string,
    filter: Filter,
    find: (cursor: mongoose.mongo.FindCursor) => mongoose.mongo.FindCursor,
  ): Promise<{ plan: Plan; real: boolean }> => {
    const { real } = await ready;
    const answer = await withDatabase(server.uri, database, (db) =>
      find(db.collection(collection).find(real ? filter : unwrapped(filter))).explain('executionStats'),
    );
    return { plan: planOf(answer as Record<string, unknown>), real };
  };

  /** `most`: how many keys a page may read; 0: it sorts what it found, which is small. */
  const page = async (
    t: ExecutionContext,
    query: Partial<PageQuery>,
    workspace: string | null,
    most: number,
  ) => {
    const checked = checkPageQuery(widgets, { pageSize: 10, ...query });
    const all = matching(checked, 'o', workspace);
    const { plan, real } = await explained('widgets', matchingAfter(widgets, checked, all), (cursor) =>
      cursor.sort(sortOf(checked)).limit(11),
    );
    if (real || checked.after === undefined) isIndexScan(t, plan);
    if (!real || most === 0) return;
    t.false(plan.stages.includes('SORT'), plan.text);
    t.true(plan.keys <= most, `${plan.keys} keys: ${plan.text}`);
  };

  for (const field of widgets.sortable) {
    for (const order of ['asc', 'desc'] as const) {
      test.serial(`sorted by ${field} ${order}`, async (t) => {
        for (const status of ['active', 'all'] as const) {
          await page(t, { sort: { field, order }, status }, null, 30);
          const at = { value: field === 'name' ? 'n60' : 60, id: 'w60' };
          const start = checkPageQuery(widgets, { pageSize: 10, sort: { field, order } });
          const cursor = encodeCursor(start, at);
          await page(t, { sort: { field, order }, status, cursor }, null, 60);
        }
        await page(t, { sort: { field, order } }, 'w1', field === 'createdAt' ? 30 : ROWS);
      });
    }
  }

  test.serial('filters use the index of their field', async (t) => {
    for (const field of ['weight', 'shared', 'ownerMail', 'hash']) {
      const value = field === 'hash' || field === 'ownerMail' ? 'x' : 1;
      await page(t, { filter: [{ field, op: 'eq', value }] }, null, 30);
    }
    await page(t, { filter: [{ field: 'name', op: 'eq', value: 'n7' }] }, null, 0);
    await page(t, { filter: [{ field: 'size', op: 'gt', value: 7 }] }, null, 0);
    await page(t, { filter: [{ field: 'weight', op: 'gt', value: 7 }] }, null, 0);
    // The test server's planner does not see these.
    if (!(await ready).real) return;
    await page(t, { filter: [{ field: 'name', op: 'contains', value: '9' }] }, null, 0);
    await page(t, { filter: [{ field: 'id', op: 'in', value: ['w1', 'w2'] }] }, null, 0);
  });

  test.serial('look-ups by id, slug and global field use their unique indexes', async (t) => {
    const lookup = async (filter: Filter, index: string, hint?: string): Promise<void> => {
      const { plan, real } = await explained('widgets', filter, (cursor) =>
        (hint ? cursor.hint(hint) : cursor).limit(2),
      );
      t.deepEqual(plan.indexes, [index], plan.text);
      if (real) t.true(plan.keys <= 2, plan.text);
    };
    const active = { archived: { $eq: false } };
    await lookup({ organisationId: 'o', id: 'w1' }, 'id');
    await lookup(
      { ...tenantFilter('o', 'w1'), slug: { $eq: 's1' }, ...active },
      'one_workspace_slug',
      'one_workspace_slug',
    );
    await lookup({ f_hash: { $eq: 'h1' }, ...active }, 'global_hash', 'global_hash');
  });

  test.serial('entries are read by the index of each filter, in the order of pages', async (t) => {
    const { name } = bucketOf('entries', 0, undefined);
    const entries = async (filter: LogFilter, workspaceId: string | null, index: string): Promise<void> => {
      const match = entryMatch({ organisationId: 'o', workspaceId }, filter);
      t.true(match.exact, index);
      for (const order of ['asc', 'desc'] as const) {
        for (const after of [undefined, { createdAt: 60, id: 'w60' }]) {
          const within = entriesWithin(match.filter, { filter, order }, { after, until: undefined });
          const { plan, real } = await explained(name, within, (cursor) =>
            cursor.sort(entrySort(order)).limit(10).hint(match.lead.index),
          );
          isIndexScan(t, plan);
          t.deepEqual(plan.indexes, [index], plan.text);
          if (!real || index === 'by_id') continue;
          t.false(plan.stages.includes('SORT'), plan.text);
          t.true(plan.keys <= ROWS / 2, plan.text);
        }
      }
    };
    await entries({}, null, 'by_organisation');
    await entries({ from: 10, until: 200 }, null, 'by_organisation');
    await entries({}, 'w1', 'by_workspace');
    await entries({ workspaceIds: ['w1', 'w2'], from: 5 }, null, 'by_workspace');
    await entries({ statusCodes: [404, 429] }, null, 'by_status');
    await entries({ traceIds: ['t1', 't2'], from: 5 }, null, 'by_trace');
    await entries({ ids: ['w1', 'w2'] }, null, 'by_id');
    await entries({ spanIds: ['s1'] }, null, 'by_span');
    await entries({ apiKeyIds: ['key-1'] }, null, 'by_key');
    await entries({ userIds: ['u1', 'u2'] }, null, 'by_user');
    await entries({ users: ['user-1', 'user-2'] }, null, 'by_metadata');
    await entries({ metadata: { environment: 'test' } }, null, 'by_metadata');
    await entries({ providers: ['openai'] }, null, 'by_provider');
    await entries({ models: ['gpt-4o-mini', 'x'] }, null, 'by_model');
    await entries({ virtualKeys: ['v1'] }, null, 'by_virtual_key');
    await entries({ configs: ['c1', 'c2'] }, null, 'by_config');
    await entries({ prompts: ['p1'] }, null, 'by_prompt');
    await entries({ cacheStatuses: ['HIT', 'MISS'] }, null, 'by_cache');
    await entries({ errorReasons: ['upstream_status', 'rate_limited'] }, null, 'by_error');
    // Of several conditions the server chooses; the test server's planner does not see all of these.
    if (!(await ready).real) return;
    const several: readonly [LogFilter, string | null][] = [
      [{ models: ['gpt-4o-mini'] }, 'w1'],
      [{ users: ['user-1'], statusCodes: [404], metadata: { environment: 'test' } }, null],
      [{ cost: { min: 1n }, latencyMs: { max: 9 } }, 'w1'],
      [{ text: 'needle', outcomes: ['error'] }, null],
      [
        {
          providerModels: [
            { provider: 'openai', model: 'x' },
            { provider: 'y', model: 'gpt-4o-mini' },
          ],
        },
        null,
      ],
    ];
    for (const [filter, workspaceId] of several) {
      const match = entryMatch({ organisationId: 'o', workspaceId }, filter);
      t.false(match.exact);
      const within = entriesWithin(
        match.filter,
        { filter, order: 'desc' },
        { after: undefined, until: undefined },
      );
      const { plan } = await explained(name, within, (cursor) => cursor.sort(entrySort('desc')).limit(10));
      isIndexScan(t, plan);
    }
  });

  test.serial('sums, feedback and what is kept beside entries are found by an index', async (t) => {
    const { real } = await ready;
    const planned = async (
      collection: string,
      index: string,
      plan: (of: mongoose.mongo.Collection) => Promise<mongoose.mongo.Document>,
    ): Promise<void> => {
      const answer = await withDatabase(server.uri, database, (db) => plan(db.collection(collection)));
      const first = (answer.stages as mongoose.mongo.Document[] | undefined)?.[0]?.$cursor ?? answer;
      const found = planOf(first as Record<string, unknown>);
      isIndexScan(t, found);
      t.deepEqual(found.indexes, [index], found.text);
    };
    const { name } = bucketOf('entries', 0, undefined);
    const day = { organisationId: 'o', createdAt: { $gte: 0, $lt: 3_600_000 } };
    const grouping = { bucketMs: 3_600_000, by: ['model', 'statusCode'] } as const;
    // An hour's sums, and what is read of entries at the edges.
    await planned(name, 'by_organisation', (of) =>
      of.aggregate(rollupPipeline(day, grouping, 10), { hint: 'by_organisation' }).explain('queryPlanner'),
    );
    await planned(name, 'by_organisation', (of) =>
      of
        .aggregate(uniquePipeline(day, grouping, 'user', 10), { hint: 'by_organisation' })
        .explain('queryPlanner'),
    );
    for (const filter of [{ models: ['m'] }, { users: ['u'] }, { workspaceIds: ['w'] }] as LogFilter[]) {
      const { filter: match, lead } = entryMatch({ organisationId: 'o', workspaceId: null }, filter);
      await planned(name, lead.index, (of) =>
        of
          .aggregate(rollupPipeline({ ...match, createdAt: day.createdAt }, grouping, 10), {
            hint: lead.index,
          })
          .explain('queryPlanner'),
      );
    }
    const sums = rollupCollection(0);
    await planned(sums, 'by_hour', (of) =>
      of
        .find({ organisationId: 'o', cuboid: 'workspace', hour: { $gte: 0, $lt: 7_200_000 } })
        .hint('by_hour')
        .explain('queryPlanner'),
    );
    await planned('log.stale', 'by_organisation', (of) =>
      of
        .find({ organisationId: 'o', hour: { $gte: 0 } })
        .hint('by_organisation')
        .explain('queryPlanner'),
    );
    await planned('log.feedback', 'one_id', (of) =>
      of.find({ organisationId: 'o', id: 'f1' }).hint('one_id').explain('queryPlanner'),
    );
    await planned('log.feedback', 'by_trace', (of) =>
      of
        .find({ organisationId: 'o', traceId: { $in: ['t1', 't2'] } })
        .hint('by_trace')
        .explain('queryPlanner'),
    );
    await planned('log.feedback', 'by_time', (of) =>
      of
        .find({ organisationId: 'o', at: { $gte: 0, $lt: 9 }, 'of.model': 'm' })
        .hint('by_time')
        .explain('queryPlanner'),
    );
    await planned(bucketOf('bodies', 0, undefined).name, 'by_organisation', (of) =>
      of
        .find({ organisationId: 'o', createdAt: 1, id: 'w1' })
        .hint('by_organisation')
        .explain('queryPlanner'),
    );
    if (!real) t.log('keys examined and sorts are of a real server only');
  });
}

/** `{$eq: x}` as `x`, which says the same: the test server's planner knows only the latter as an equality. */
function unwrapped(filter: Filter): Filter {
  const plain = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && '$eq' in value ? value.$eq : value;
  return Object.fromEntries(Object.entries(filter).map(([member, value]) => [member, plain(value)]));
}

function isIndexScan(t: ExecutionContext, plan: Plan): void {
  t.true(plan.indexes.length > 0 && !plan.stages.includes('COLLSCAN'), plan.text);
}

async function seed(uri: string, database: string): Promise<{ real: boolean }> {
  const store = await openMongoStore({ uri, database, collections: [widgets], deadlineMs: 30_000 });
  const documents = Array.from({ length: ROWS }, (_, i) => ({
    id: `w${i}`,
    slug: `s${i}`,
    workspaceId: `w${i % 3}`,
    createdAt: i,
    body: { name: `n${i}`, size: i, weight: i % 10, hash: `h${i}`, shared: i % 2 === 0 },
  }));
  const scope = { organisationId: 'o', workspaceId: undefined };
  await store.documents.commit(
    scope,
    documents.map((document) => ({ kind: 'insert', collection: widgets, document })),
  );
  await store.requestLog.append(
    documents.map(({ id, createdAt, workspaceId }, i) =>
      logEntry({
        id,
        createdAt,
        workspaceId,
        organisationId: 'o',
        traceId: `t${i % 50}`,
        statusCode: [200, 404, 429][i % 3] as number,
        ...(i % 3 ? { error: { reason: i % 2 ? 'upstream_status' : 'rate_limited', message: 'no' } } : {}),
        ...(i % 4 ? {} : { spanId: `s${i}`, userId: `u${i % 3}`, virtualKey: `v${i % 5}` }),
        ...(i % 3 ? {} : { config: `c${i % 5}`, prompt: `p${i % 5}`, cacheStatus: i % 2 ? 'HIT' : 'MISS' }),
      }),
    ),
  );
  await store.requestLog.appendBodies([
    { id: 'w1', organisationId: 'o', workspaceId: 'w', createdAt: 1, request: {}, response: {} },
  ]);
  await store.makeRollups();
  await store.close();
  const info = await withDatabase(uri, 'admin', (db) => db.command({ buildInfo: 1 }));
  return { real: !('secantusVersion' in info) };
}

/** Collects from the winning plan; rejected plans say nothing of what runs. */
function planOf(answer: Record<string, unknown>): Plan {
  const stages: string[] = [];
  const indexes: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === 'stage') stages.push(String(value));
      else if (key === 'indexName') indexes.push(String(value));
      else visit(value);
    }
  };
  const winning = (answer.queryPlanner as Record<string, unknown>).winningPlan;
  visit(winning);
  const { totalKeysExamined = 0 } = (answer.executionStats ?? {}) as { totalKeysExamined?: number };
  return { stages, indexes: [...new Set(indexes)], keys: totalKeysExamined, text: JSON.stringify(winning) };
}
