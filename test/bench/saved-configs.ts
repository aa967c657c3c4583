// What 5,000 saved configs (and 1,000 guardrails) cost on the embedded store: the start, a call by slug cold and warm,
// and list pages. Prints a table; ends with 1 when a bound is not held.
//   node test/bench/saved-configs.ts
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { organisationIds } from '../../src/access/organisation-ids.ts';
import { openStores } from '../../src/app/stores.ts';
import { ConfigCatalogue } from '../../src/configs/config-catalogue.ts';
import { type ConfigBody, configs, guardrails } from '../../src/configs/config-collections.ts';
import { GuardrailCatalogue } from '../../src/configs/guardrail-catalogue.ts';
import { readSettings } from '../../src/settings.ts';
import { insertOperation, type WriteOperation } from '../../src/store/documents.ts';
import { follow } from '../../src/store/follow.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const CONFIGS = 5000;
const GUARDRAILS = 1000;
const BATCH = 500;
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const provider = await startFakeProvider();
const rows: { what: string; ms: number; bound: number | undefined }[] = [];
const note = (what: string, ms: number, bound?: number): void => void rows.push({ what, ms, bound });
const median = (times: readonly number[]): number => [...times].sort((a, b) => a - b)[times.length >> 1]!;

const slugOf = (i: number): string => `pc-bench-${i.toString(16).padStart(6, '0')}`;

function body(i: number): ConfigBody {
  const target = { provider: 'openai', api_key: `sk-bench-${i}`, custom_host: provider.origin };
  const config = {
    strategy: { mode: 'fallback' },
    retry: { attempts: 1 },
    targets: [target, { ...target, override_params: { temperature: 0 } }, { ...target, weight: 2 }],
  };
  const author = { ownerId: 'bench', updatedBy: 'bench' };
  return { name: `Config ${i % 100}`, config, versionId: randomUUID(), ...author };
}

async function fill(organisationId: string, workspaceId: string): Promise<void> {
  const { documents, close } = await openStores(readSettings({ GATEWAY_DATA_DIR: dataDir }));
  const scope = { organisationId, workspaceId };
  const now = Date.now();
  const operations: WriteOperation[] = [];
  for (let i = 0; i < CONFIGS; i++) {
    const document = { id: randomUUID(), slug: slugOf(i), createdAt: now - i, body: body(i) };
    operations.push(insertOperation(configs, document));
  }
  for (let i = 0; i < GUARDRAILS; i++) {
    const checks = [{ id: 'default.contains', parameters: { words: [`w${i}`], operator: 'none' } }];
    const author = { versionId: randomUUID(), ownerId: 'bench', updatedBy: 'bench' };
    const content = { name: `Guardrail ${i}`, checks, actions: { deny: true }, ...author };
    operations.push(
      insertOperation(guardrails, { id: randomUUID(), slug: `pg-${i}`, createdAt: now - i, body: content }),
    );
  }
  while (operations.length > 0) await documents.commit(scope, operations.splice(0, BATCH));
  await close();
}

/** The snapshot alone: how long it takes to read, and how long a look-up in it. */
async function measureSnapshot(organisationId: string, workspaceId: string): Promise<void> {
  const { documents, feed, store, close } = await openStores(readSettings({ GATEWAY_DATA_DIR: dataDir }));
  const saved = new ConfigCatalogue();
  const guardrails = new GuardrailCatalogue();
  const since = performance.now();
  const organisations = () => organisationIds(store.maintenance);
  const source = { documents, feed, organisations, onError: console.error };
  const stop = await follow(source, [guardrails.replica, saved.replica]);
  note('the snapshot is read', performance.now() - since, 3000);
  const tenant = { organisationId, workspaceId };
  const start = performance.now();
  for (let round = 0; round < 20; round++)
    for (let i = 0; i < CONFIGS; i++)
      if (saved.find(tenant, slugOf(i)) === undefined) throw new Error(slugOf(i));
  note('a look-up (in memory, no promise)', (performance.now() - start) / (20 * CONFIGS), 0.01);
  stop();
  await close();
}

const first = await startGateway({ GATEWAY_DATA_DIR: dataDir });
const { organisationId, workspaceId } = first.app.tenancy;
await first.close();
await fill(organisationId, workspaceId);
await measureSnapshot(organisationId, workspaceId);

const since = performance.now();
const gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir, LOG_LEVEL: 'error' });
note(`start with ${CONFIGS} configs and ${GUARDRAILS} guardrails`, performance.now() - since, 3000);

async function timed(
  key: string,
  path: string,
  headers: Record<string, string> = {},
  json?: object,
): Promise<number> {
  const start = performance.now();
  const response = await fetch(`${gateway.origin}/v1${path}`, {
    method: json ? 'POST' : 'GET',
    headers: {
      'x-gateway-api-key': key,
      ...(json ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(json ? { body: JSON.stringify(json) } : {}),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return performance.now() - start;
}

const chat = (slug: string): Promise<number> =>
  timed(
    WORKSPACE_KEY,
    '/chat/completions',
    { 'x-gateway-config': slug },
    {
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'hi' }],
    },
  );
const inline = JSON.stringify(body(0).config);
for (let i = 0; i < 300; i++) await chat(inline);
const repeat = async (times: number, one: (i: number) => Promise<number>): Promise<number> => {
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push(await one(i));
  return median(all);
};
// In turn, so that none has the warmer process.
const times: Record<'inline' | 'cold' | 'warm', number[]> = { inline: [], cold: [], warm: [] };
for (let i = 0; i < 500; i++) {
  times.inline.push(await chat(inline));
  times.cold.push(await chat(slugOf(i + 1)));
  times.warm.push(await chat(slugOf(1)));
}
note('a chat call, the config inline and known (whole round trip to a fake provider)', median(times.inline));
note('a chat call by slug, for the first time', median(times.cold), 5);
note('a chat call by slug, again', median(times.warm), 5);
for (const [what, path] of [
  ['first page of 100', '/configs?page_size=100'],
  ['middle page of 100', '/configs?page_size=100&current_page=25'],
  ['last page of 100', '/configs?page_size=100&current_page=49'],
  ['first page by workspace', '/configs?page_size=100&workspace_id=default'],
  ['first page by part of the name', '/configs?page_size=100&name=fig%2042'],
  ['first page, archived ones too', '/configs?page_size=100&status=active,archived'],
  ['first page of guardrails', '/guardrails?page_size=100'],
  ['last page of guardrails', '/guardrails?page_size=100&current_page=9'],
] as const)
  note(`list: ${what}`, await repeat(15, () => timed(ADMIN_KEY, path)), 20);

await gateway.close();
await provider.close();
rmSync(dataDir, { recursive: true, force: true });
for (const { what, ms, bound } of rows) {
  const verdict = bound === undefined ? '' : ms < bound ? `within ${bound}` : `ABOVE ${bound}`;
  console.log(`${ms.toFixed(ms < 1 ? 4 : 1).padStart(10)} ms  ${what}  ${verdict}`);
}
process.exitCode = rows.some(({ ms, bound }) => bound !== undefined && ms >= bound) ? 1 : 0;
