// The log's lists and figures over many entries, each by itself as the console asks for it.

import { readFileSync } from 'node:fs';
import { cpuSeconds } from '../bench/child.ts';
import { END } from '../bench/log-generator.ts';
import { ADMIN_KEY, type Sluice } from '../bench/sluice.ts';

const DAY_MS = 86_400_000;
const ROUNDS = 5;

type Params = Readonly<Record<string, string>>;

/** What one question took, in milliseconds: at first, and the median and the slowest of those after it. */
export interface Asked {
  readonly name: string;
  readonly first: number;
  readonly median: number;
  readonly slowest: number;
  /** CPU of the gateway for one, in milliseconds. */
  readonly cpu: number;
  /** What of the answer is worth telling, e.g. that a search did not end. */
  readonly note: string;
}

const GRAPHS = ['requests', 'cost', 'latency', 'tokens', 'errors', 'errors-status-code'];
const FILTERS: Readonly<Record<string, Params>> = {
  'no filter': {},
  'one model': { ai_model: 'openai-model-0' },
  'status 429': { status_code: '429' },
  'a metadata member': { metadata: JSON.stringify({ environment: 'test' }) },
  'a search': { search: 'claude' },
  'a search of one word in ids and errors': { search: 'context_length' },
};
const GROUPS = [
  'model',
  'ai_service',
  'api_key',
  'workspace',
  'config',
  'prompt',
  'status_code',
  'error_reason',
];

/** Every question of the analytics page and of the log's list over the last 30 days of the filled log. */
export function questions(): readonly (readonly [name: string, path: string, params: Params])[] {
  const range = (until: number, days: number): Params => ({
    time_of_generation_min: new Date(until - days * DAY_MS).toISOString(),
    time_of_generation_max: new Date(until).toISOString(),
  });
  const whole = range(END, 30);
  const filtered = Object.entries(FILTERS);
  const month = {
    time_of_generation_min: '2026-11-01T00:00:00.000Z',
    time_of_generation_max: '2026-12-01T00:00:00.000Z',
  };
  return [
    ...filtered.flatMap(([name, filter]) =>
      GRAPHS.map(
        (graph) => [`${graph}, ${name}`, `/analytics/graphs/${graph}`, { ...whole, ...filter }] as const,
      ),
    ),
    ['requests, 15 days', '/analytics/graphs/requests', range(END, 15)],
    ['requests, the 15 days before', '/analytics/graphs/requests', range(END - 15 * DAY_MS, 15)],
    ['latency, 6 hours by the minute', '/analytics/graphs/latency', range(END, 0.25)],
    ...['requests', 'cost', 'p95_latency', 'avg_time_to_first_token', 'p95_time_to_first_token'].flatMap(
      (measure) =>
        ['model', 'api_key', 'workspace', 'metadata.environment'].map(
          (by) =>
            [
              `${measure} by ${by}`,
              `/analytics/graphs/grouped/${measure}`,
              { ...whole, group_by: by },
            ] as const,
        ),
    ),
    ...GROUPS.map(
      (by) =>
        [
          `group ${by}`,
          `/analytics/groups/${by}`,
          { ...whole, columns: 'cost,total_tokens,avg_latency,error_count' },
        ] as const,
    ),
    ['group metadata environment', '/analytics/groups/metadata/environment', whole],
    ['group metadata _user (300,000 values)', '/analytics/groups/metadata/_user', whole],
    ['month by workspace', '/analytics/groups/workspace', { ...month, columns: 'cost,total_tokens' }],
    ['month by metadata environment', '/analytics/groups/metadata/environment', month],
    ...filtered.flatMap(([name, filter]) => [
      [`list, ${name}`, '/logs', { ...whole, ...filter }] as const,
      [`list with exact count, ${name}`, '/logs', { ...whole, ...filter, include_total: 'exact' }] as const,
      [`facets, ${name}`, '/logs/facets', { ...whole, ...filter }] as const,
    ]),
  ];
}

/** CPU seconds of a process and of those that it started: the log is read in one of its own. */
function treeSeconds(pid: number): number {
  let children: string;
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  } catch {
    return cpuSeconds(pid);
  }
  const pids = children.split(' ').filter(Boolean).map(Number);
  return pids.reduce((sum, child) => sum + treeSeconds(child), cpuSeconds(pid));
}

/** Asks one question several times. @throws Error when it is refused */
export async function ask(
  { origin, child }: Sluice,
  name: string,
  path: string,
  params: Params,
): Promise<Asked> {
  const times: number[] = [];
  const before = treeSeconds(child.pid);
  let note = '';
  for (let round = 0; round <= ROUNDS; round++) {
    const since = performance.now();
    const answer = await fetch(`${origin}/v1${path}?${new URLSearchParams(params)}`, {
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    });
    const json = (await answer.json()) as Readonly<Record<string, unknown>>;
    times.push(performance.now() - since);
    if (!answer.ok) throw new Error(`${name}: ${answer.status} ${JSON.stringify(json)}`);
    note = [
      ...(json.total === undefined ? [] : [`${json.total}${json.total_capped ? '+' : ''} entries`]),
      ...(json.search_incomplete === true ? ['search incomplete'] : []),
      ...(json.source === undefined ? [] : [String(json.source)]),
    ].join(', ');
  }
  const [first = Number.NaN, ...rest] = times;
  const sorted = rest.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const cpu = ((treeSeconds(child.pid) - before) * 1000) / times.length;
  return { name, first, median, slowest: sorted.at(-1) ?? Number.NaN, cpu, note };
}
