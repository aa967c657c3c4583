// An answer that is cached for one tenant, or one of its workspaces, is no answer for another.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createChain } from '../../src/access/audit/chain.ts';
import { createOrganisation } from '../../src/access/new-organisation.ts';
import { openStores } from '../../src/app/stores.ts';
import { readSettings } from '../../src/settings.ts';
import { type Bench, PROVIDER_KEY, startBench } from '../contract/runner.ts';
import { ok, send } from '../support/front-door.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-test-'));
let bench: Bench;
let admin: string;

test.before(async () => {
  const { documents, hasher, close } = await openStores(readSettings({ GATEWAY_DATA_DIR: dataDir }));
  const facts = { chain: createChain({ documents }), hasher, now: Date.now };
  const owner = { ownerEmail: 'o@other.test', ownerFirstName: 'O', ownerLastName: 'W' };
  admin = (await createOrganisation(facts, { handle: 'other', name: 'Other', ...owner })).adminKey;
  await close();
  bench = await startBench({ GATEWAY_DATA_DIR: dataDir });
});
test.after.always(async () => {
  await bench?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function serviceKey(workspace_id: string): Promise<string> {
  const body = { name: 'k', workspace_id, scopes: ['completions.write'] };
  return String((await ok(bench.gateway, 'POST', '/api-keys/workspace/service', { body, key: admin })).key);
}

test('an answer is cached for the workspace that asked', async (t) => {
  const config = {
    provider: 'openai',
    api_key: PROVIDER_KEY,
    custom_host: `${bench.provider.origin}/v1`,
    cache: { mode: 'simple', max_age: 600 },
  };
  const body = { model: 'gpt-ok', messages: [{ role: 'user', content: 'the same question' }] };
  const headers = { 'x-gateway-config': JSON.stringify(config) };
  const ask = async (key: string): Promise<string | null> => {
    const answer = await send(bench.gateway, 'POST', '/chat/completions', { body, key, headers });
    t.is(answer.status, 200, JSON.stringify(answer.json));
    return answer.headers.get('x-gateway-cache-status');
  };
  const second = String(
    (await ok(bench.gateway, 'POST', '/admin/workspaces', { body: { name: 'Second' }, key: admin })).id,
  );
  const [own, neighbour] = [await serviceKey('default'), await serviceKey(second)];
  const calls = () => bench.provider.seen.length;
  t.is(await ask(own), 'MISS');
  t.is(await ask(own), 'HIT');
  t.is(calls(), 1);
  t.is(await ask(WORKSPACE_KEY), 'MISS', 'another organisation');
  t.is(await ask(neighbour), 'MISS', 'another workspace');
  t.is(calls(), 3);
});
