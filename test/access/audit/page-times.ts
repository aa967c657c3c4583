// How long pages of a long audit log, its proof and an append take on the embedded store:
//   node test/access/audit/page-times.ts [entries]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createChain } from '../../../src/access/audit/chain.ts';
import { type AuditRecord, auditEntries, auditHeads } from '../../../src/access/audit/entry.ts';
import { verifyChain } from '../../../src/access/audit/verify.ts';
import type { Condition } from '../../../src/store/documents.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';

const COUNT = Number(process.argv[2] ?? 100_000);
const ORGANISATION = 'org';
const scope = { organisationId: ORGANISATION, workspaceId: undefined };
const ACTIONS = ['create', 'update', 'delete', 'rotate'];
const RESOURCES = ['workspace', 'api-key', 'config', 'prompt', 'policy'];

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-audit-times-'));
const store = await openSqliteStore({ dataDir, collections: [auditEntries, auditHeads] });
const { documents } = store;
const chain = createChain({ documents });

function facts(i: number): AuditRecord {
  const outcome = i % 10 === 0 ? 'failed' : 'allowed';
  return {
    at: 1_700_000_000_000 + i * 1000,
    actor: { type: 'api_key', id: `key-${i % 50}`, name: 'a key', keyId: `key-${i % 50}`, role: '' },
    action: ACTIONS[i % 4] as string,
    resourceType: RESOURCES[i % 5] as string,
    target: { id: `thing-${i % 1000}`, name: `Thing ${i % 1000}` },
    workspaceId: i % 3 === 0 ? '' : `workspace-${i % 20}`,
    outcome,
    reason: outcome === 'failed' ? 'validation_failed' : '',
    detail: '',
    statusCode: outcome === 'failed' ? 400 : 200,
    requestId: `request-${i}`,
    operation: 'gateway.admin.v2.WorkspacesService/UpdateWorkspace',
    protocol: 'rest',
    method: 'PUT',
    path: `/admin/workspaces/thing-${i % 1000}`,
    clientIp: `192.0.2.${i % 200}`,
    changes: [{ path: 'name', before: `Thing ${i}`, after: `Thing ${i + 1}` }],
    changesTruncated: false,
  };
}

async function timed(name: string, run: () => Promise<unknown>, times = 5): Promise<void> {
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const begun = performance.now();
    await run();
    took.push(performance.now() - begun);
  }
  took.sort((a, b) => a - b);
  const [best, median, worst] = [took[0], took[Math.floor(times / 2)], took.at(-1)] as [
    number,
    number,
    number,
  ];
  const figures = [best, median, worst].map((ms) => ms.toFixed(1).padStart(9)).join('');
  process.stdout.write(`${name.padEnd(44)}${figures}\n`);
}

const begun = performance.now();
for (let i = 0; i < COUNT; i += 1000) {
  await Promise.all(Array.from({ length: 1000 }, (_, k) => chain.append(ORGANISATION, facts(i + k))));
}
const seconds = (performance.now() - begun) / 1000;
process.stdout.write(
  `${COUNT} entries in ${seconds.toFixed(1)} s, ${Math.round(COUNT / seconds)} a second\n\n`,
);
process.stdout.write(`${'milliseconds'.padEnd(44)}     best   median    worst\n`);

const lastPage = Math.floor(Math.min(COUNT, 100_000) / 100) - 1;
const page = (filter: readonly Condition[], at: number, workspaceId?: string) =>
  documents.page({ ...scope, workspaceId }, auditEntries, {
    filter,
    sort: { field: 'createdAt', order: 'desc' },
    page: at,
    pageSize: 100,
  });
const eq = (field: string, value: string | number): Condition => ({ field, op: 'eq', value });

for (const at of [0, Math.floor(lastPage / 2), lastPage]) await timed(`page ${at}`, () => page([], at));
for (const [name, value] of [
  ['action', 'create'],
  ['resourceType', 'api-key'],
  ['outcome', 'allowed'],
  ['outcome', 'failed'],
  ['statusCode', 200],
  ['statusCode', 400],
  ['actorId', 'key-7'],
  ['actorType', 'api_key'],
  ['targetId', 'thing-7'],
  ['requestId', 'request-77'],
  ['method', 'PUT'],
  ['path', '/admin/workspaces/thing-7'],
  ['clientIp', '192.0.2.7'],
] as const) {
  await timed(`${name} ${value}`, () => page([eq(name, value)], 0));
}
await timed('a workspace', () => page([], 0, 'workspace-7'));
await timed('a workspace and an action', () => page([eq('action', 'rotate')], 0, 'workspace-7'));
await timed('action and resource, together none', () =>
  page([eq('action', 'nothing'), eq('outcome', 'allowed')], 0),
);
await timed('a target and an outcome', () => page([eq('outcome', 'allowed'), eq('targetId', 'thing-7')], 0));
await timed('an actor and an action', () => page([eq('actorId', 'key-7'), eq('action', 'update')], 0));
await timed('an actor, a target, and POST', () =>
  page([eq('method', 'PUT'), eq('actorId', 'key-7'), eq('targetId', 'thing-7')], 0),
);
await timed('action, resource and outcome', () =>
  page([eq('action', 'create'), eq('resourceType', 'api-key'), eq('outcome', 'failed')], 0),
);
const day = 1_700_000_000_000 + (COUNT / 2) * 1000;
const range: readonly Condition[] = [
  { field: 'createdAt', op: 'gte', value: day },
  { field: 'createdAt', op: 'lt', value: day + 86_400_000 },
];
await timed('a day', () => page(range, 0));
await timed('a day and an action', () => page([...range, eq('action', 'create')], 0));
await timed('one append', () => chain.append(ORGANISATION, facts(COUNT)), 20);
await timed('50 appends at once', () =>
  Promise.all(Array.from({ length: 50 }, () => chain.append(ORGANISATION, facts(COUNT)))),
);
let longest = 0;
let last = performance.now();
const watch = setInterval(() => {
  longest = Math.max(longest, performance.now() - last - 5);
  last = performance.now();
}, 5);
await timed('the proof of all', () => verifyChain(documents, ORGANISATION), 1);
clearInterval(watch);
process.stdout.write(
  `\nthe event loop stood still for ${longest.toFixed(1)} ms at the longest during the proof\n`,
);

await store.close();
rmSync(dataDir, { recursive: true, force: true });
