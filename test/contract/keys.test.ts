// Keys: every way of presenting one, and that none ever reaches a provider.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ModelsService } from '../../gen/gateway/inference/v2/models_pb.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { PROGRAM } from '../support/program.ts';
import {
  type Answered,
  type Bench,
  type Case,
  type JsonObject,
  PROVIDER_KEY,
  type Refusal,
  raw,
  runCases,
  startBench,
} from './runner.ts';

let bench: Bench;
let dataDir: string;
/** Keys that the command made before the start: scopes of logs only, and of models only. */
const made: Record<'logs' | 'models', string> = { logs: '', models: '' };

test.before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-keys-'));
  const create = (name: string, scopes: string): string => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [PROGRAM, 'keys', 'create', '--name', name, '--scopes', scopes],
      {
        env: {
          PATH: process.env.PATH,
          GATEWAY_DATA_DIR: dataDir,
          GATEWAY_API_KEY: WORKSPACE_KEY,
          GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
        },
        encoding: 'utf8',
      },
    );
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  made.logs = create('logs', 'logs.list');
  made.models = create('models', 'models.list');
  bench = await startBench({ GATEWAY_DATA_DIR: dataDir });
});
test.after.always(async () => {
  await bench?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const method = ChatService.method.createChatCompletion;
const body: JsonObject = { model: 'gpt-ok', messages: [{ role: 'user', content: 'x' }] };
const NONE = { 'x-gateway-api-key': undefined, authorization: undefined };

const unauthenticated = (message: string | RegExp): Refusal => ({
  status: 401,
  code: Code.Unauthenticated,
  reason: 'unauthenticated',
  param: '',
  message,
});

/** No header of the provider's request holds the key; its own credential is as expected. */
const credential =
  (expected: string | undefined) =>
  (t: Parameters<NonNullable<Case['check']>>[0], { sent }: Answered): void => {
    t.is(sent.length, 1);
    const { headers, rawHeaders, url } = sent[0]!;
    t.is(headers.authorization, expected);
    const everything = [...rawHeaders, url, sent[0]!.body.toString('utf8')].join('\n');
    t.false(everything.includes(WORKSPACE_KEY), 'the gateway key must not reach the provider');
    t.false(/x-gateway/i.test(everything));
  };

const PROVIDER = `Bearer ${PROVIDER_KEY}`;

/** A provider that needs no credential, so that calls without one can be made. */
const KEYLESS = { 'x-gateway-provider': 'openai-compatible' };

const CASES: Case[] = [
  {
    name: 'x-gateway-api-key, and the provider’s credential in authorization',
    method,
    body,
    check: credential(PROVIDER),
  },
  {
    name: 'authorization only: it authenticates and is not forwarded',
    method,
    body,
    headers: { ...NONE, ...KEYLESS, authorization: `Bearer ${WORKSPACE_KEY}` },
    check: credential(undefined),
  },
  {
    name: 'authorization only, with a small bearer',
    method,
    body,
    headers: { ...NONE, ...KEYLESS, authorization: `bearer ${WORKSPACE_KEY}` },
    check: credential(undefined),
  },
  {
    name: 'x-api-key only: it counts as a bearer token',
    method,
    body,
    headers: { ...NONE, ...KEYLESS, 'x-api-key': WORKSPACE_KEY },
    check: credential(undefined),
  },
  {
    name: 'x-api-key with the gateway’s key beside the provider’s authorization',
    method,
    body,
    headers: { 'x-gateway-api-key': undefined, 'x-api-key': WORKSPACE_KEY },
    check: credential(PROVIDER),
  },
  {
    name: 'x-gateway-api-key, and the provider’s credential in x-api-key',
    method,
    body,
    headers: { authorization: undefined, 'x-api-key': PROVIDER_KEY },
    check: credential(PROVIDER),
  },
  {
    name: 'the same key in both headers is not forwarded',
    method,
    body,
    headers: { ...KEYLESS, authorization: `Bearer ${WORKSPACE_KEY}` },
    check: credential(undefined),
  },
  {
    name: 'another key of the gateway in authorization is not forwarded',
    method,
    body,
    headers: { ...KEYLESS, authorization: `Bearer ${ADMIN_KEY}` },
    check: (t, answer) => {
      credential(undefined)(t, answer);
      t.false(answer.sent[0]!.rawHeaders.join('\n').includes(ADMIN_KEY));
    },
  },
  {
    name: 'forward-headers does not carry the key out',
    method,
    body,
    headers: {
      'x-gateway-forward-headers': 'x-custom, x-copy',
      'x-custom': 'kept',
      'x-copy': `key=${WORKSPACE_KEY}`,
    },
    check: (t, answer) => {
      credential(PROVIDER)(t, answer);
      t.is(answer.sent[0]!.headers['x-custom'], 'kept');
      t.is(answer.sent[0]!.headers['x-copy'], undefined);
    },
  },
  {
    name: 'forward-headers does not carry another key of the gateway out',
    method,
    body,
    headers: { 'x-gateway-forward-headers': 'x-copy', 'x-copy': ADMIN_KEY },
    check: (t, answer) => {
      credential(PROVIDER)(t, answer);
      t.false(answer.sent[0]!.rawHeaders.join('\n').includes(ADMIN_KEY));
    },
  },
  {
    name: 'no key',
    method,
    body,
    headers: NONE,
    refused: unauthenticated(/an API key is needed.*x-gateway-api-key/),
  },
  {
    name: 'a wrong key',
    method,
    body,
    headers: { 'x-gateway-api-key': 'slk_wrong_key_0123456789' },
    refused: unauthenticated('not known'),
  },
  {
    name: 'a wrong key beside a right one in authorization',
    method,
    body,
    headers: { 'x-gateway-api-key': 'slk_wrong_key_0123456789', authorization: `Bearer ${WORKSPACE_KEY}` },
    refused: unauthenticated('not known'),
  },
  {
    name: 'a wrong key in authorization',
    method,
    body,
    headers: { ...NONE, authorization: 'Bearer sk-somebody-elses' },
    refused: unauthenticated('not known'),
  },
  {
    name: 'an empty key',
    method,
    body,
    headers: { 'x-gateway-api-key': '' },
    refused: unauthenticated(/key/),
  },
  {
    name: 'a key with one character more',
    method,
    body,
    headers: { 'x-gateway-api-key': `${WORKSPACE_KEY}x` },
    refused: unauthenticated('not known'),
  },
  {
    name: 'the key in basic authentication',
    method,
    body,
    headers: { ...NONE, authorization: `Basic ${Buffer.from(`u:${WORKSPACE_KEY}`).toString('base64')}` },
    refused: unauthenticated('not known'),
  },
  {
    name: 'no key beats a broken body',
    method,
    body: { model: '' },
    headers: NONE,
    refused: unauthenticated('needed'),
  },
  {
    name: 'no key beats a broken header',
    method,
    body,
    headers: { ...NONE, 'x-gateway-metadata': '{' },
    refused: unauthenticated('needed'),
  },
  {
    name: 'an admin key makes no model calls',
    method,
    body,
    headers: { 'x-gateway-api-key': ADMIN_KEY },
    refused: {
      status: 403,
      code: Code.PermissionDenied,
      reason: 'forbidden',
      message: 'organisation-service',
      param: '',
    },
  },
  {
    name: 'an admin key streams no model calls',
    method,
    body: { ...body, stream: true },
    headers: { 'x-gateway-api-key': ADMIN_KEY },
    refused: { status: 403, code: Code.PermissionDenied, reason: 'forbidden' },
  },
  {
    name: 'a workspace key without its scope reads no logs',
    method: LogsService.method.listLogs,
    refused: {
      status: 403,
      code: Code.PermissionDenied,
      reason: 'forbidden',
      message: 'logs.list',
      param: '',
    },
  },
  {
    name: 'no key reads no logs',
    method: LogsService.method.listLogs,
    headers: NONE,
    refused: unauthenticated('needed'),
  },
];

runCases(test, () => bench, CASES);

test('a key with the scope of logs reads logs and makes no calls', async (t) => {
  const { origin } = bench.gateway;
  const logs = await fetch(`${origin}/v1/logs`, { headers: { 'x-gateway-api-key': made.logs } });
  t.is(logs.status, 200);
  t.is(((await logs.json()) as JsonObject).object, 'list');
  const prefix = bench.mark();
  const chat = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bench.headers(prefix), 'x-gateway-api-key': made.logs, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  t.is(chat.status, 403);
  t.is(bench.sentTo(prefix).length, 0);
  const proxied = await fetch(`${origin}/v1/anything`, {
    headers: { ...bench.headers(prefix), 'x-gateway-api-key': made.logs },
  });
  t.is(proxied.status, 403);
  t.is(bench.sentTo(prefix).length, 0);
});

runCases(test, () => bench, [
  {
    name: 'one of two scopes is enough for the list of models',
    method: ModelsService.method.listModels,
    headers: {
      get 'x-gateway-api-key'() {
        return made.models;
      },
    },
    check: (t, { json }) => t.is(json.object, 'list'),
  },
]);

// Pass-through forwards the caller's headers, so each must be judged.
const passed = async (headers: Record<string, string>): Promise<readonly string[]> => {
  const prefix = bench.mark();
  const { authorization: _, ...ordinary } = bench.headers(prefix);
  const answer = await raw(bench.gateway.origin, {
    path: '/v1/some/path',
    headers: { ...ordinary, 'x-gateway-provider': 'openai-compatible', ...headers },
  });
  if (answer.status !== 404) throw new Error(`${answer.status}: ${answer.text}`);
  return bench.sentTo(prefix)[0]!.rawHeaders;
};

for (const [name, headers] of [
  ['authorization', { authorization: `Bearer ${WORKSPACE_KEY}` }],
  ['a bare authorization', { authorization: WORKSPACE_KEY }],
  ['x-api-key', { 'x-api-key': WORKSPACE_KEY }],
  ['api-key', { 'api-key': WORKSPACE_KEY }],
  ['any header', { 'x-whatever': `prefix ${WORKSPACE_KEY} suffix` }],
  ['authorization, an admin key', { authorization: `Bearer ${ADMIN_KEY}` }],
  ['x-api-key, an admin key', { 'x-api-key': ADMIN_KEY }],
  ['api-key, an admin key', { 'api-key': ADMIN_KEY }],
] as const) {
  test(`pass-through: a key of the gateway in ${name} is not forwarded`, async (t) => {
    const sent = (await passed({ ...headers, 'x-kept': 'yes' })).join('\n');
    t.false(sent.includes(WORKSPACE_KEY));
    t.false(sent.includes(ADMIN_KEY));
    t.true(sent.includes('x-kept\nyes'));
    t.false(/x-gateway/i.test(sent));
  });
}

test('pass-through: the key in authorization authenticates and is not forwarded', async (t) => {
  const prefix = bench.mark();
  const { authorization: _a, 'x-gateway-api-key': _k, ...ordinary } = bench.headers(prefix);
  const answer = await raw(bench.gateway.origin, {
    path: '/v1/some/path',
    headers: {
      ...ordinary,
      'x-gateway-provider': 'openai-compatible',
      authorization: `Bearer ${WORKSPACE_KEY}`,
    },
  });
  t.is(answer.status, 404);
  t.false(bench.sentTo(prefix)[0]!.rawHeaders.join('\n').includes(WORKSPACE_KEY));
});

test('a key is never in the log, the metrics or an error', async (t) => {
  const { origin, logLines } = bench.gateway;
  await raw(origin, { path: '/v1/logs', headers: { 'x-gateway-api-key': 'slk_secret_of_a_stranger_1' } });
  const metrics = await raw(origin, { path: '/metrics' });
  const audit = await raw(origin, {
    path: '/v1/audit-logs?page_size=100',
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  t.is(audit.status, 200);
  const all = `${logLines.join('\n')}${metrics.text}${audit.text}`;
  for (const secret of [WORKSPACE_KEY, ADMIN_KEY, PROVIDER_KEY, 'slk_secret_of_a_stranger_1'])
    t.false(all.includes(secret), secret);
  t.regex(audit.text, /audit-log/);
});
