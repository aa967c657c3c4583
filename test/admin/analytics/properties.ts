// What analytics answer over random traffic equals a recount of the entries as they are listed, whatever is asked.
import type { TestFn } from 'ava';
import { createDice, type Dice } from '../../access/fuzz/dice.ts';
import type { Json } from '../../support/front-door.ts';
import { type Asked, asking } from './asking.ts';
import { analytics, type Door } from './door.ts';
import {
  COLUMNS,
  cacheSummary,
  DIMENSIONS,
  errorCodes,
  feedbackModels,
  figures,
  GRAPHS,
  grouped,
  hitRate,
  type Listed,
  metadataGroup,
  type Opinion,
  scores,
  userGroup,
  weighted,
} from './recount.ts';
import { differences } from './same.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TEAM = 'team name';

/** What answers were added up from so far. */
const sources = new Set<string>();

interface Stage {
  readonly door: Door;
  readonly asked: Asked;
  readonly entries: readonly Listed[];
  readonly opinions: readonly Opinion[];
  readonly dice: Dice;
}

/** Registers the properties. @param rounds queries of each */
export function analyticsProperties(
  test: TestFn,
  open: () => Promise<Door>,
  seed: number,
  rounds: number,
): void {
  test('calls that were made are of every kind', async (t) => {
    const made = (await open()).entries.filter(({ id }) => !id.startsWith('entry-'));
    const those = (is: (one: Listed) => boolean): number => made.filter(is).length;
    t.is(made.length, 14);
    t.is(
      those((one) => one.cache_status === 'HIT' && BigInt(one.saved_exact ?? 0) > 0n),
      4,
    );
    t.is(
      those((one) => one.retries === 2 && one.status_code === 200),
      2,
    );
    t.is(
      those((one) => one.rescued && one.status_code === 200),
      2,
    );
    t.is(
      those((one) => one.status_code === 404),
      2,
    );
    t.true(those((one) => BigInt(one.cost_exact ?? 0) > 0n) >= 4);
  });

  for (const [name, prove] of Object.entries(PROPERTIES)) {
    test(`${name} equal a recount`, async (t) => {
      t.timeout(240_000);
      const door = await open();
      const dice = createDice(seed);
      t.log(`ANALYTICS_SEED=${seed}`);
      for (let round = 0; round < rounds; round++) {
        const asked = asking(dice, door.ground);
        const entries = door.entries.filter(asked.means);
        const faults = await prove({ door, asked, entries, opinions: opinionsOf(door, asked), dice });
        if (faults.length > 0) t.log(asked.query);
        t.deepEqual(faults.slice(0, 5), [], `${faults.length} figures`);
      }
      t.log(`read: ${[...sources].join(', ')}`);
    });
  }
}

/** Feedback belongs to the request it is about; to a trace without one when nothing but time is asked. */
function opinionsOf({ opinions }: Door, { query, means, from, until }: Asked): Opinion[] {
  const plain = Object.keys(query).length === 2;
  return opinions.filter(({ entry, created_at }) => {
    if (entry !== undefined) return means(entry);
    const at = Date.parse(created_at);
    return plain && at >= from && at < until;
  });
}

function bucketMsOf({ from, until }: Asked): number {
  const span = until - from;
  if (span <= 6 * HOUR_MS) return 60_000;
  if (span <= DAY_MS) return 300_000;
  return span <= 31 * DAY_MS ? HOUR_MS : DAY_MS;
}

/** The stretches of time with what is in each. */
function slotsOf<T extends { readonly created_at: string }>(
  asked: Asked,
  all: readonly T[],
): [string, T[]][] {
  const length = bucketMsOf(asked);
  const slots = new Map<number, T[]>();
  for (let at = Math.floor(asked.from / length) * length; at < asked.until; at += length) slots.set(at, []);
  for (const one of all) slots.get(Math.floor(Date.parse(one.created_at) / length) * length)?.push(one);
  return [...slots].map(([at, some]) => [new Date(at).toISOString(), some]);
}

const graphOf = (asked: Asked, summary: Json, data_points: readonly Json[]): Json => ({
  object: 'analytics-graph',
  summary,
  data_points,
  bucket_seconds: bucketMsOf(asked) / 1000,
});

/** An answer without what it was added up from, which both may be. */
async function answer(
  { door, asked }: Stage,
  path: string,
  more: Record<string, string> = {},
): Promise<Json> {
  const { source, ...rest } = await analytics(door, path, { ...asked.query, ...more });
  if (!['rollups', 'entries', 'feedback'].includes(String(source)))
    throw new Error(`${path}: source ${source}`);
  sources.add(String(source));
  return rest;
}

const PROPERTIES: Readonly<Record<string, (stage: Stage) => Promise<string[]>>> = {
  async 'graphs over time'(stage) {
    const faults: string[] = [];
    const slots = slotsOf(stage.asked, stage.entries);
    for (const [path, { summary, point }] of Object.entries(GRAPHS)) {
      const points = slots.map(([timestamp, some]) => ({ timestamp, ...point(some) }));
      const expected = graphOf(stage.asked, summary(stage.entries), points);
      faults.push(...differences(await answer(stage, `graphs/${path}`), expected, path));
    }
    return faults;
  },

  async 'hit rates, savings, status codes and the cache summary'(stage) {
    const { asked, entries } = stage;
    const slots = slotsOf(asked, entries);
    const { summary, points } = hitRate(slots.map(([, some]) => some));
    const rates = graphOf(
      asked,
      summary,
      points.map((point, i) => ({ timestamp: slots[i]?.[0], ...point })),
    );
    const cache = { object: 'analytics-summary', summary: cacheSummary(entries) };
    const codes = { object: 'analytics-graph', ...errorCodes(entries) };
    return [
      ...differences(await answer(stage, 'graphs/cache/hit-rate'), rates, 'hit-rate'),
      ...differences(await answer(stage, 'graphs/errors/status-codes'), codes, 'status-codes'),
      ...differences(await answer(stage, 'summary/cache'), cache, 'cache'),
    ];
  },

  async 'graphs of feedback'(stage) {
    const { asked, opinions } = stage;
    const slots = slotsOf(
      asked,
      opinions.map((one) => ({ ...one, created_at: one.entry?.created_at ?? one.created_at })),
    );
    const over = (of: (some: readonly Opinion[]) => Json): Json =>
      graphOf(
        asked,
        of(opinions),
        slots.map(([timestamp, some]) => ({ timestamp, ...of(some) })),
      );
    const object = 'analytics-graph';
    const expected = {
      feedbacks: over((some) => ({ total: some.length })),
      'feedbacks/weighted': over((some) => ({ avg: weighted(some) })),
      'feedbacks/scores': { object, ...scores(opinions) },
      'feedbacks/ai-models': { object, ...feedbackModels(opinions) },
    };
    const faults: string[] = [];
    for (const [path, graph] of Object.entries(expected))
      faults.push(...differences(await answer(stage, `graphs/${path}`), graph, path));
    return faults;
  },

  async 'groups of users, models, workspaces and metadata'(stage) {
    const { door, entries, opinions } = stage;
    const users = ranked(grouped(entries, ({ metadata }) => metadata?._user));
    const models = ranked(grouped(entries, ({ model }) => model));
    const workspaces = ranked(grouped(entries, ({ workspace_id }) => workspace_id));
    const teams = ranked(grouped(entries, ({ metadata }) => metadata?.[TEAM]));
    const names = new Map([
      [door.ground.workspaceIds[0], { workspace_slug: 'default', workspace_name: 'Default workspace' }],
      [door.ground.workspaceIds[1], { workspace_name: 'Elsewhere' }],
    ]);
    const told = await answer(stage, 'groups/workspaces');
    const data = (told.data as Json[]).map(({ workspace_slug: slug, ...group }) =>
      // A slug that the gateway made up holds chance.
      slug === 'default' ? { workspace_slug: slug, ...group } : group,
    );
    return [
      ...differences(
        await answer(stage, 'groups/users'),
        list(users.map(([user, some]) => userGroup(user, some))),
      ),
      ...differences(
        await answer(stage, 'groups/ai-models'),
        list(models.map(([ai_model, some]) => ({ ai_model, ...figures(some) }))),
      ),
      ...differences(
        { ...told, data },
        list(
          workspaces.map(([workspace, some]) => ({ workspace, ...names.get(workspace), ...figures(some) })),
        ),
      ),
      ...differences(
        await answer(stage, `groups/metadata/${encodeURIComponent(TEAM)}`),
        list(
          teams.map(([team, some]) =>
            metadataGroup(
              team,
              some,
              opinions.filter(({ entry }) => entry?.metadata?.[TEAM] === team),
            ),
          ),
        ),
      ),
    ];
  },

  async 'groups with columns, in any order, page by page'(stage) {
    const { dice, entries } = stage;
    const group_by = dice.pick(Object.keys(DIMENSIONS));
    const names = dice.some(Object.keys(COLUMNS), 0.6);
    const columns = (some: readonly Listed[]): Json => ({
      requests: some.length,
      ...Object.assign({}, ...names.map((name) => COLUMNS[name]?.(some))),
    });
    const keyOf = DIMENSIONS[group_by] as (one: Listed) => string | number;
    const groups = ranked(grouped(entries, keyOf));
    const query = { include_total: 'true', ...(names.length > 0 && { columns: names.join(',') }) };
    const told = await answer(stage, `groups/${group_by}`, query);
    const expected = groups.map(([value, some]) => ({
      object: 'analytics-group',
      [group_by]: value,
      ...columns(some),
    }));
    const data = (told.data as Json[]).map(({ workspace_slug: _, workspace_name: __, ...group }) => group);
    return [
      ...differences({ ...told, data }, { ...list(expected), totals: columns(entries) }, group_by),
      ...(await ordered(stage, group_by, groups.length)),
      ...differences(
        await answer(stage, `groups/${group_by}`),
        await answer(stage, `../logs/groups/${group_by}`),
        'twin',
      ),
    ];
  },
};

/** Pages of two in an order of chance hold each group once, in that order. */
async function ordered(stage: Stage, group_by: string, count: number): Promise<string[]> {
  const { dice } = stage;
  const order_by = dice.pick([...Object.keys(COLUMNS), group_by]);
  const order_by_type = dice.pick(['asc', 'desc']);
  const columns = order_by === group_by ? 'requests' : order_by;
  const order = { columns, order_by, order_by_type, page_size: '2' };
  const seen: Json[] = [];
  for (let page = 0; page * 2 < count + 2; page++) {
    const { data } = await answer(stage, `groups/${group_by}`, { ...order, current_page: String(page) });
    seen.push(...(data as Json[]));
  }
  const values = seen.map((group) => group[order_by] as string | number);
  const sign = order_by_type === 'asc' ? 1 : -1;
  return [
    ...differences(new Set(seen.map((group) => group[group_by])).size, count, `groups by ${order_by}`),
    ...differences(seen.length, count, `groups by ${order_by}`),
    ...values.flatMap((value, i) => {
      const next = values[i + 1];
      const wrong = next !== undefined && (sign > 0 ? value > next : value < next);
      return wrong ? [`${group_by} by ${order_by} ${order_by_type}: ${value} before ${next}`] : [];
    }),
  ];
}

const list = (data: readonly Json[]): Json => ({ object: 'list', total: data.length, data });

/** Most requests first, equal ones by group. */
function ranked<K extends string | number>(groups: Map<K, Listed[]>): [K, Listed[]][] {
  return [...groups].sort(
    ([a, some], [b, others]) => others.length - some.length || (String(a) < String(b) ? -1 : 1),
  );
}
