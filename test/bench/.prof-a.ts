import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { serialize, deserialize } from 'node:v8';
import { statementCache } from '../../src/store/sqlite/statement-cache.ts';
import { planAggregate } from '../../src/store/sqlite/log/aggregate-plan.ts';
import { readSums } from '../../src/store/sqlite/log/aggregate-reads.ts';
import { SegmentFiles } from '../../src/store/sqlite/log/segment-files.ts';
import { Selection } from '../../src/store/sqlite/log/selection.ts';
import { ValueTables } from '../../src/store/sqlite/log/value-table.ts';
import { LogView } from '../../src/store/sqlite/log/view.ts';
import { BEGIN, DAY_MS, END, ORGANISATION } from './log-generator.ts';
const HOUR_MS = 3600000;
const [folder, only, rounds = '5', hint] = process.argv.slice(2) as [string, string, string, string];
const isNew = planAggregate.length === 4;
const db = new DatabaseSync(join(folder, 'sluice.db'), { readOnly: true });
const cached = statementCache(db);
const files = new SegmentFiles(join(folder, 'logs'), 2000);
const values = new ValueTables();
import * as seg from "../../src/store/sqlite/log/segment.ts"; const scratch = new (seg as any).Scratch();
const log = new LogView(cached, files, 8192);
const SUMS: any[] = [
  ['all, by day', {}, { bucketMs: DAY_MS }],
  ['all, by hour', {}, { bucketMs: HOUR_MS }],
  ['by hour and status', {}, { bucketMs: HOUR_MS, by: ['statusCode'] }],
  ['by hour and model', {}, { bucketMs: HOUR_MS, by: ['model'] }],
  ['one workspace, by hour', { workspaceIds: ['ws-3'] }, { bucketMs: HOUR_MS }],
  ['by hour, distinct users', {}, { bucketMs: HOUR_MS, unique: 'user' }],
  ['distinct users', {}, { unique: 'user' }],
  ['models', {}, { by: ['provider', 'model'], take: 50 }],
  ['users, first 50', {}, { by: ['user'], take: 50 }],
  ['users by cost', {}, { by: ['user'], order: { measure: 'cost', direction: 'desc' }, skip: 1000, take: 50 }],
  ['users fewest', {}, { by: ['user'], order: { measure: 'requests', direction: 'asc' }, take: 50 }],
  ['persons', {}, { by: ['userId'], take: 50 }],
  ['metadata key', {}, { by: [{ metadata: 'environment' }], take: 50 }],
  ['API keys and status', {}, { by: ['apiKey', 'statusCode'], take: 100 }],
  ['cache hits, by hour', { cacheStatuses: ['HIT', 'SEMANTIC HIT'] }, { bucketMs: HOUR_MS }],
  ['failures by status', { statusCodes: [400, 429, 500, 503] }, { by: ['statusCode'] }],
  ['one user, by day', { users: ['user-000005'] }, { bucketMs: DAY_MS }],
  ['dear ones, by day', { cost: { min: 1_000_000_000n } }, { bucketMs: DAY_MS }],
  ['edges within hours', { from: BEGIN + 1_234_567, until: END - 7_654_321 }, { bucketMs: HOUR_MS }],
  ['one day, by minute', { from: END - DAY_MS }, { bucketMs: 60_000 }],
];
const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1000; };
for (const [name, f, a0] of SUMS) {
  if (only && only !== 'all' && !name.includes(only)) continue;
  const a = hint ? { ...a0, latencies: false } : a0;
  const filter = { from: BEGIN, until: END, ...f };
  const times: number[] = []; const crossing: number[] = [];
  let said = '';
  for (let i = 0; i < Number(rounds); i++) {
    const c = cpu();
    const view = log.refresh();
    const selection = new Selection({ org: ORGANISATION, workspace: null }, filter, view.hash, undefined, values, ...(isNew ? [scratch] : []) as any);
    const open = (row: any) => files.segment(row);
    const plan = isNew ? (planAggregate as any)(view, selection, { org: ORGANISATION, workspace: null, filter, aggregation: a }, open) : (planAggregate as any)(view, selection, filter, a, { open });
    const found: any = readSums(plan, a, selection, 4096);
    times.push(cpu() - c);
    const c2 = cpu();
    const b = serialize(found); deserialize(b);
    crossing.push(cpu() - c2);
    said = `${found.buckets.length} rows ${plan.source} ${(b.length / 1e6).toFixed(1)} MB, req ${found.sums.reduce((s: number, v: number, i: number) => i % 17 === 0 ? s + v : s, 0)} cost ${found.sums.reduce((s: number, v: number, i: number) => i % 17 === 6 ? s + v : s, 0)}`;
  }
  const med = (t: number[]) => t.toSorted((x, y) => x - y)[t.length >> 1]!;
  console.log(name.padEnd(26), `cold ${times[0]!.toFixed(0).padStart(5)} cpu ${med(times).toFixed(0).padStart(5)} cross ${med(crossing).toFixed(0).padStart(5)}  ${said}`);
}
console.log('rss', (process.memoryUsage().rss / 1e6).toFixed(0), 'ext', (process.memoryUsage().external / 1e6).toFixed(0), 'ab', (process.memoryUsage().arrayBuffers / 1e6).toFixed(0), 'heap', (process.memoryUsage().heapUsed / 1e6).toFixed(0));
