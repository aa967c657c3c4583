// The settings for tokens over the API: what is taken, what is refused, and that a change counts at once.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { AuditLogsService } from '../../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { JwtSettingsService } from '../../../gen/gateway/admin/v2/jwt_pb.ts';
import { type Bench, type Case, type JsonObject, runCases, startBench } from '../../contract/runner.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../../support/gateway.ts';
import { withSlack } from '../../support/slack.ts';
import { claimsWith, sign, signingKey, startJwks } from './issuer.ts';

const key = await signingKey('ES256', 'first');
const rsa = await signingKey('RS256', 'second');
const JWKS = { keys: [key.publicJwk] } as unknown as JsonObject;
let bench: Bench;

test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const ADMIN = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
const get = JwtSettingsService.method.getJwtSettings;
const replace = JwtSettingsService.method.replaceJwtSettings;
const remove = JwtSettingsService.method.deleteJwtSettings;

const wrong = (
  name: string,
  body: JsonObject,
  param: string,
  reason = 'validation_failed' as const,
): Case => ({
  name,
  method: replace,
  body,
  headers: ADMIN,
  refused: { status: 400, code: Code.InvalidArgument, reason, param },
});

runCases(test, () => bench, [
  wrong('neither an address nor keys', {}, 'jwks_uri'),
  wrong('both', { jwks_uri: 'https://issuer.example.com/jwks', jwks: JWKS }, 'jwks_uri'),
  wrong('no TLS', { jwks_uri: 'http://issuer.example.com/jwks' }, 'jwks_uri'),
  {
    ...wrong('a private address', { jwks_uri: 'https://10.0.0.1/jwks' }, 'jwks_uri', 'host_refused' as never),
  },
  { ...wrong('no address', { jwks_uri: 'jwks' }, 'jwks_uri', 'host_refused' as never) },
  wrong('a private key', { jwks: { keys: [key.privateJwk] } as unknown as JsonObject }, 'jwks.keys[0].d'),
  wrong('a shared secret', { jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }, 'jwks.keys[0].k'),
  wrong('no keys', { jwks: {} }, 'jwks.keys'),
  wrong('an algorithm with a shared secret', { jwks: JWKS, algorithms: ['HS256'] }, 'algorithms[0]'),
  wrong('no algorithm at all', { jwks: JWKS, algorithms: ['none'] }, 'algorithms[0]'),
  wrong('an issuer twice', { jwks: JWKS, issuers: ['a', 'a'] }, 'issuers'),
  wrong('an empty audience', { jwks: JWKS, audiences: [''] }, 'audiences[0]'),
  wrong('neither issuers nor audiences', { jwks: JWKS }, 'issuers'),
  wrong('neither of them, and no word of it', { jwks: JWKS, any_issuer_and_audience: false }, 'issuers'),
  wrong('a skew of an hour', { jwks: JWKS, clock_skew_seconds: 3600 }, 'clock_skew_seconds'),
  wrong('a claim without a name', { jwks: JWKS, claims: { role: '' } }, 'claims.role'),
  ...[get, replace, remove].map(
    (method): Case => ({
      name: `${method.name}: a workspace’s key may not`,
      method,
      ...(method === replace ? { body: { jwks: JWKS } } : {}),
      headers: { ...ADMIN, 'x-gateway-api-key': WORKSPACE_KEY },
      refused: { status: 403, code: Code.PermissionDenied, reason: 'forbidden' },
    }),
  ),
]);

const call = async (verb: string, body?: unknown): Promise<{ status: number; json: JsonObject }> => {
  const answer = await fetch(`${bench.gateway.origin}/v1/admin/organisation/jwt`, {
    method: verb,
    headers: { 'x-gateway-api-key': ADMIN_KEY, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: answer.status, json: (await answer.json()) as JsonObject };
};
const logs = async (token: string): Promise<number> =>
  (await fetch(`${bench.gateway.origin}/v1/logs`, { headers: { 'x-gateway-api-key': token } })).status;

test('set, read, replaced, taken away: each counts at once, and each is in the audit log', async (t) => {
  const { organisationId } = bench.gateway.app.tenancy;
  const token = await sign(key, claimsWith({ organisation_id: organisationId }));
  t.is((await call('GET')).status, 404);
  t.is((await call('DELETE')).status, 404);
  t.is(await logs(token), 403);

  const extra = {
    keys: [
      { ...key.publicJwk, x5c: ['MIIB'], use: 'sig' },
      { ...rsa.publicJwk, use: 'enc' },
    ],
  };
  const set = await call('PUT', {
    jwks: extra,
    issuers: ['https://issuer.test.example'],
    claims: { role: 'groups' },
  });
  t.is(set.status, 200);
  const { created_at: createdAt, last_updated_at: updatedAt, ...settings } = set.json;
  t.deepEqual(settings, {
    object: 'jwt_settings',
    jwks_uri: null,
    jwks: { keys: [{ ...key.publicJwk, use: 'sig' }] } as unknown as JsonObject,
    issuers: ['https://issuer.test.example'],
    audiences: [],
    algorithms: [],
    clock_skew_seconds: 60,
    claims: { role: 'groups' },
    known_users_only: false,
  });
  t.is(createdAt, updatedAt);
  t.deepEqual((await call('GET')).json, set.json);
  t.is(await logs(token), 200);

  const replaced = await call('PUT', { jwks: JWKS, audiences: ['somebody else'], clock_skew_seconds: 0 });
  t.like(replaced.json, {
    issuers: [],
    audiences: ['somebody else'],
    clock_skew_seconds: 0,
    claims: null,
    created_at: createdAt,
  });
  t.is(await logs(token), 401);
  t.is((await call('PUT', { jwks: JWKS, any_issuer_and_audience: true })).status, 200);
  t.is(await logs(token), 200);
  t.deepEqual(await call('DELETE'), { status: 200, json: {} });
  t.is(await logs(token), 403);
  t.is((await call('GET')).status, 404);
  t.is((await call('PUT', { jwks: JWKS, any_issuer_and_audience: true })).status, 200, 'and set again');
  t.is(await logs(token), 200);

  const audit = await bench.transports.grpc.unary(
    AuditLogsService.method.listAuditLogs,
    undefined,
    undefined,
    { 'x-gateway-api-key': ADMIN_KEY },
    { resourceType: 'jwt-settings', outcome: 'allowed' },
  );
  const { records } = audit.message;
  t.deepEqual(records.map(({ action }) => action).reverse(), [
    'update',
    'update',
    'update',
    'delete',
    'update',
  ]);
  t.true(JSON.stringify(records[3]!.changes).includes('audiences'));
});

test('settings outlive a restart, and tokens with them', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-jwt-'));
  const ask = async (gateway: TestGateway, token: string): Promise<number> =>
    (await fetch(`${gateway.origin}/v1/logs`, { headers: { authorization: `Bearer ${token}` } })).status;
  const first = await startGateway({ GATEWAY_DATA_DIR: dataDir });
  const set = await fetch(`${first.origin}/v1/admin/organisation/jwt`, {
    method: 'PUT',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ jwks: JWKS, any_issuer_and_audience: true }),
  });
  t.is(set.status, 200);
  const token = await sign(key, claimsWith({ organisation_id: first.app.tenancy.organisationId }));
  t.is(await ask(first, token), 200);
  await first.close();
  const second = await startGateway({ GATEWAY_DATA_DIR: dataDir });
  t.is(await ask(second, token), 200);
  await second.close();
  rmSync(dataDir, { recursive: true, force: true });
});

test('a call’s own time counts while the keys are fetched, and a slow issuer is no 500', async (t) => {
  const server = await startJwks([]);
  server.behaviour = () => {};
  const gateway = await startGateway();
  const ask = (path: string, init: RequestInit): Promise<Response> =>
    fetch(`${gateway.origin}/v1${path}`, init);
  await ask('/admin/organisation/jwt', {
    method: 'PUT',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ jwks_uri: server.url, any_issuer_and_audience: true }),
  });
  const token = await sign(key, claimsWith({ organisation_id: gateway.app.tenancy.organisationId }));
  const begun = performance.now();
  const [timed, late] = await Promise.all([
    ask('/logs', { headers: { 'x-gateway-api-key': token, 'x-gateway-request-timeout': '100' } }),
    ask('/logs', { headers: { 'x-gateway-api-key': token } }).then((answer) => {
      server.behaviour = undefined;
      return answer;
    }),
  ]);
  t.is(timed.status, 408);
  t.is(late.status, 503);
  t.true(Number(late.headers.get('retry-after')) >= 1);
  t.is(((await late.json()) as { error: JsonObject }).error.code, 'key_set_unavailable');
  t.true(performance.now() - begun < withSlack(8000));
  t.is(server.hits, 1);
  await gateway.close();
  await server.close();
});
