// Failed authentication in the audit log: whose it is told to be, and what a flood of it comes to.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import type { JsonObject } from './runner.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-strangers-'));
let gateway: TestGateway;
test.before(async () => {
  const first = await startGateway({ GATEWAY_DATA_DIR: dataDir });
  await first.close();
  const database = new DatabaseSync(join(dataDir, 'sluice.db'));
  database
    .prepare(`UPDATE c_api_keys SET body = json_set(body, '$.expiresAt', 1) WHERE f_bootstrap = 'workspace'`)
    .run();
  database.close();
  gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir, GATEWAY_BODY_LIMIT: '2KiB' });
});
test.after.always(async () => {
  await gateway?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function call(path: string, headers: Record<string, string>, body?: object): Promise<string> {
  const response = await fetch(`${gateway.origin}/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  await response.text();
  if (response.status !== 401) throw new Error(`${response.status}`);
  return response.headers.get('x-gateway-request-id') ?? '';
}

async function list(query: string): Promise<{ total: number; records: JsonObject[] }> {
  const response = await fetch(`${gateway.origin}/v1/audit-logs?${query}`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  return (await response.json()) as { total: number; records: JsonObject[] };
}

const CHAT = { model: 'gpt-ok', messages: [{ role: 'user', content: 'x' }] };

test.serial('an expired key is told as its own', async (t) => {
  const id = await call('/admin/workspaces', { 'x-gateway-api-key': WORKSPACE_KEY });
  const { records } = await list(`request_id=${id}`);
  t.is(records.length, 1);
  t.like(records[0], {
    outcome: 'refused',
    reason: 'unauthenticated',
    detail: 'the API key has expired',
    user_type: 'api_key',
    user_name: 'First workspace key',
    role: 'workspace-service',
    workspace_id: gateway.app.tenancy.workspaceId,
  });
  t.deepEqual(JSON.parse(String(records[0]?.request_headers)), { 'x-gateway-api-key': 'sl…ab' });
});

test.serial('on the data plane a refused token is told, a refused key is not', async (t) => {
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLW9mLW5vYm9keQ';
  const token = await call('/chat/completions', { authorization: `Bearer ${jwt}` }, CHAT);
  const { records } = await list(`request_id=${token}`);
  t.is(records.length, 1);
  t.like(records[0], { user_type: 'anonymous', action: 'authenticate', response_status_code: 401 });
  t.is(JSON.parse(String(records[0]?.request_headers))['x-gateway-api-key'], 'ey…eQ');
  t.not(records[0]?.detail, '');
  const key = await call('/chat/completions', { 'x-gateway-api-key': 'slk_no_key_of_ours_1234' }, CHAT);
  t.deepEqual((await list(`request_id=${key}`)).records, []);
});

test.serial('a body that is too large fails the call behind authentication, and is told', async (t) => {
  const send = (key: string) =>
    fetch(`${gateway.origin}/v1/admin/workspaces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-api-key': key },
      body: JSON.stringify({ name: 'x'.repeat(3000) }),
    });
  const known = await send(ADMIN_KEY);
  t.is(known.status, 413);
  const { records } = await list(`request_id=${known.headers.get('x-gateway-request-id')}`);
  t.is(records.length, 1);
  t.like(records[0], {
    outcome: 'failed',
    reason: 'body_too_large',
    response_status_code: 413,
    action: 'create',
  });
  t.is((await send('slk_nobody_at_all_0000')).status, 401);
});

test.serial('a flood of bad keys is counted, not written', async (t) => {
  const before = (await list('outcome=refused&page_size=0')).total;
  const attempts = 600;
  const begun = performance.now();
  for (let i = 0; i < attempts; i += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, k) =>
        call('/admin/workspaces', { 'x-gateway-api-key': `slk_flood_${String(i + k).padStart(8, '0')}` }),
      ),
    );
  }
  const { total, records } = await list('outcome=refused&page_size=100');
  // A burst, 5 a second, and their summaries.
  const most = 100 + ((performance.now() - begun) / 1000) * 7 + 10;
  t.true(total - before >= 50 && total - before <= most, `${total - before} of ${Math.round(most)}`);
  const counted = records.flatMap(({ detail }) => {
    const found = /^(\d+) calls like this one/.exec(String(detail));
    return found ? [Number(found[1])] : [];
  });
  const written = total - before - counted.length;
  t.is(written + counted.reduce((sum, n) => sum + n, 0), attempts);
  const proof = await fetch(`${gateway.origin}/v1/audit-logs/verify`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  t.like(await proof.json(), { valid: true });
});
