// Tokens through the front door: both planes, every protocol, every way of presenting one; and that none ever
// reaches a provider or a log.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { LogsService } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { OrganisationsService } from '../../../gen/gateway/admin/v2/organisations_pb.ts';
import { ChatService } from '../../../gen/gateway/inference/v2/chat_pb.ts';
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
} from '../../contract/runner.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../../support/gateway.ts';
import { claimsWith, type JwksServer, seconds, sign, signingKey, startJwks } from './issuer.ts';

const key = await signingKey('RS256', 'first');
const stranger = await signingKey('RS256', 'first');
let bench: Bench;
let server: JwksServer;
const made = {
  good: '',
  another: '',
  expired: '',
  forged: '',
  readOnly: '',
  elsewhere: '',
  /** A provider's own, of the form of ours. */
  foreign: '',
};

test.before(async () => {
  [bench, server] = await Promise.all([
    startBench({ GATEWAY_HEADER_PREFIXES: 'x-gateway-,x-alias-' }),
    startJwks([key.publicJwk]),
  ]);
  const { organisationId } = bench.gateway.app.tenancy;
  const answer = await fetch(`${bench.gateway.origin}/v1/admin/organisation/jwt`, {
    method: 'PUT',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ jwks_uri: server.url, audiences: ['sluice'] }),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  const claims = (changes: Record<string, unknown> = {}) =>
    claimsWith({ organisation_id: organisationId, ...changes });
  made.good = await sign(key, claims());
  made.another = await sign(key, claims({ jti: 'another' }));
  made.expired = await sign(key, claims({ exp: seconds(-100) }));
  made.forged = await sign(stranger, claims());
  made.readOnly = await sign(key, claims({ scope: 'logs.list audit_logs.list organisation_settings.read' }));
  made.elsewhere = await sign(key, claims({ workspace_slug: 'elsewhere' }));
  made.foreign = await sign(stranger, { iss: 'https://provider.example', sub: 'account', exp: seconds(600) });
});
test.after.always(async () => {
  await bench?.close();
  await server?.close();
});

const method = ChatService.method.createChatCompletion;
const body: JsonObject = { model: 'gpt-ok', messages: [{ role: 'user', content: 'x' }] };
const KEYLESS = { 'x-gateway-provider': 'openai-compatible' };
const PROVIDER = `Bearer ${PROVIDER_KEY}`;

/** Headers whose values are known once the tokens are made. */
function headers(given: Readonly<Record<string, (() => string) | string | undefined>>) {
  const out: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(given)) {
    const get = typeof value === 'function' ? value : () => value;
    Object.defineProperty(out, name, { get, enumerable: true });
  }
  return out;
}

/** The provider got this credential, and nothing of ours. */
const credential =
  (expected: () => string | undefined) =>
  (t: Parameters<NonNullable<Case['check']>>[0], { sent }: Answered): void => {
    t.is(sent.length, 1);
    t.is(sent[0]!.headers.authorization, expected());
    const everything = [...sent[0]!.rawHeaders, sent[0]!.url, sent[0]!.body.toString('utf8')].join('\n');
    for (const token of [made.good, made.another, made.expired])
      t.false(everything.includes(token), 'a token must not reach the provider');
    t.false(everything.includes(WORKSPACE_KEY));
  };
const nothing = credential(() => undefined);

const OWN = 'x-gateway-api-key';
const good = (): string => made.good;
const bearer = (name: keyof typeof made) => (): string => `Bearer ${made[name]}`;
const unauthenticated = (message: string): Refusal => ({
  status: 401,
  code: Code.Unauthenticated,
  reason: 'unauthenticated',
  param: '',
  message,
});
const forbidden = (message: string): Refusal => ({
  status: 403,
  code: Code.PermissionDenied,
  reason: 'forbidden',
  message,
});

const CASES: Case[] = [
  {
    name: 'a token in its own header, and the provider’s credential in authorization',
    method,
    body,
    headers: headers({ [OWN]: good }),
    check: credential(() => PROVIDER),
  },
  {
    name: 'a stream',
    method,
    body: { ...body, stream: true },
    headers: headers({ [OWN]: good }),
    check: (t, { events }) => t.true(events.length > 1),
  },
  {
    name: 'a token as bearer: it authenticates and is not forwarded',
    method,
    body,
    headers: headers({ ...KEYLESS, [OWN]: undefined, authorization: bearer('good') }),
    check: nothing,
  },
  {
    name: 'a token in x-api-key, beside the provider’s authorization',
    method,
    body,
    headers: headers({ [OWN]: undefined, 'x-api-key': good }),
    check: credential(() => PROVIDER),
  },
  {
    name: 'the same token twice is not forwarded',
    method,
    body,
    headers: headers({ ...KEYLESS, [OWN]: good, authorization: bearer('good') }),
    check: nothing,
  },
  {
    name: 'another token of ours in authorization is not forwarded, an expired one neither',
    method,
    body,
    headers: headers({
      ...KEYLESS,
      [OWN]: good,
      authorization: bearer('another'),
      'x-api-key': () => made.expired,
    }),
    check: nothing,
  },
  {
    name: 'a token of ours beside an API key is not forwarded',
    method,
    body,
    headers: headers({ ...KEYLESS, authorization: bearer('good') }),
    check: nothing,
  },
  {
    name: 'a provider’s token beside an API key goes to the provider',
    method,
    body,
    headers: headers({ authorization: bearer('foreign') }),
    check: credential(() => `Bearer ${made.foreign}`),
  },
  {
    name: 'a provider’s token beside a token goes to the provider',
    method,
    body,
    headers: headers({ [OWN]: good, authorization: bearer('foreign') }),
    check: credential(() => `Bearer ${made.foreign}`),
  },
  {
    name: 'a provider’s token in authorization, and ours in x-api-key',
    method,
    body,
    headers: headers({ [OWN]: undefined, authorization: bearer('foreign'), 'x-api-key': good }),
    check: credential(() => `Bearer ${made.foreign}`),
  },
  {
    name: 'forward-headers carries no token out',
    method,
    body,
    headers: headers({
      [OWN]: good,
      'x-gateway-forward-headers': 'x-kept, x-copy, x-other',
      'x-kept': 'kept',
      'x-copy': () => `token=${made.good}`,
      'x-other': () => made.another,
    }),
    check: (t, answer) => {
      credential(() => PROVIDER)(t, answer);
      t.is(answer.sent[0]!.headers['x-kept'], 'kept');
    },
  },
  {
    name: 'a token reads the log of its workspace',
    method: LogsService.method.listLogs,
    headers: headers({ [OWN]: () => made.readOnly }),
    check: (t, { json }) => t.is(json.object, 'list'),
  },
  {
    name: 'a token without the scope makes no calls',
    method,
    body,
    headers: headers({ [OWN]: () => made.readOnly }),
    refused: forbidden('completions.write'),
  },
  {
    name: 'a token is no admin key, whatever its scopes say',
    method: OrganisationsService.method.getOrganisation,
    headers: headers({ [OWN]: () => made.readOnly }),
    refused: forbidden('workspace-service'),
  },
  {
    name: 'an expired token',
    method,
    body,
    headers: headers({ [OWN]: () => made.expired }),
    refused: unauthenticated('the token has expired'),
  },
  {
    name: 'an expired token reads nothing',
    method: LogsService.method.listLogs,
    headers: headers({ [OWN]: undefined, authorization: bearer('expired') }),
    refused: unauthenticated('the token has expired'),
  },
  {
    name: 'a forged token',
    method,
    body,
    headers: headers({ [OWN]: () => made.forged }),
    refused: unauthenticated('signature is not valid'),
  },
  {
    name: 'a forged token as bearer streams nothing',
    method,
    body: { ...body, stream: true },
    headers: headers({ [OWN]: undefined, authorization: bearer('forged') }),
    refused: unauthenticated('signature is not valid'),
  },
  {
    name: 'a token for a workspace that is not there',
    method,
    body,
    headers: headers({ [OWN]: () => made.elsewhere }),
    refused: forbidden('workspace'),
  },
  {
    name: 'a provider’s token alone',
    method,
    body,
    headers: headers({ [OWN]: undefined, authorization: bearer('foreign') }),
    refused: unauthenticated('names no organisation'),
  },
  {
    name: 'a forged token beats a broken body',
    method,
    body: { model: '' },
    headers: headers({ [OWN]: () => made.forged }),
    refused: unauthenticated('signature is not valid'),
  },
];

runCases(test, () => bench, CASES);

const chat = (token: string, content: string, prefix = bench.mark()): Promise<Response> =>
  fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bench.headers(prefix), [OWN]: token, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content }] }),
  });

test('a token under an alias prefix', async (t) => {
  const prefix = bench.mark();
  const { [OWN]: _, ...ordinary } = bench.headers(prefix);
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...ordinary, 'x-alias-api-key': made.good, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  t.is(answer.status, 200);
  t.truthy(answer.headers.get('x-alias-request-id'));
  t.is(bench.sentTo(prefix)[0]!.headers.authorization, PROVIDER);
});

test('a long body is read for a good token that was not seen before, and for no other', async (t) => {
  const { organisationId } = bench.gateway.app.tenancy;
  const fresh = await sign(key, claimsWith({ organisation_id: organisationId, jti: 'long' }));
  const long = 'x'.repeat(200_000);
  t.is((await chat(fresh, long)).status, 200);
  const prefix = bench.mark();
  const refused = await chat(made.forged, long, prefix);
  t.is(refused.status, 401);
  t.regex(await refused.text(), /signature is not valid/);
  t.is(bench.sentTo(prefix).length, 0);
});

test('a call by token is in the log under the token’s name, and under no key’s', async (t) => {
  const trace = 'trace-of-a-token';
  const prefix = bench.mark();
  const answer = await fetch(`${bench.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      ...bench.headers(prefix),
      [OWN]: made.good,
      'x-gateway-trace-id': trace,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  t.is(answer.status, 200);
  const listed = await fetch(`${bench.gateway.origin}/v1/logs?trace_id=${trace}`, {
    headers: { [OWN]: made.readOnly },
  });
  const [entry] = ((await listed.json()) as { data: JsonObject[] }).data;
  t.regex(String(entry?.api_key_id), /^jwt_[\w-]{32}$/);
  t.is(entry?.workspace_id, bench.gateway.app.tenancy.workspaceId);
});

test('pass-through carries no token out', async (t) => {
  const prefix = bench.mark();
  const { authorization: _, ...ordinary } = bench.headers(prefix);
  const answer = await raw(bench.gateway.origin, {
    path: '/v1/some/path',
    headers: {
      ...ordinary,
      ...KEYLESS,
      [OWN]: made.good,
      authorization: `Bearer ${made.another}`,
      'x-copy': `a ${made.good} b`,
      'x-kept': 'yes',
    },
  });
  t.is(answer.status, 404);
  const sent = bench.sentTo(prefix)[0]!.rawHeaders.join('\n');
  for (const token of [made.good, made.another]) t.false(sent.includes(token));
  t.true(sent.includes('x-kept\nyes'));
});

test('failures of both planes are in the audit log, the token masked; no token is in any log', async (t) => {
  const { origin, logLines } = bench.gateway;
  await chat(made.forged, 'x');
  await chat(made.elsewhere, 'x');
  await fetch(`${origin}/v1/logs`, { headers: { [OWN]: made.expired } });
  const answer = await fetch(`${origin}/v1/audit-logs?outcome=refused`, { headers: { [OWN]: ADMIN_KEY } });
  const text = await answer.text();
  t.is(answer.status, 200, text);
  const { records } = JSON.parse(text) as { records: JsonObject[] };
  const masked = (token: string): string => `${token.slice(0, 2)}…${token.slice(-2)}`;
  for (const [token, operation, detail] of [
    [made.forged, 'gateway.inference.v2.ChatService/CreateChatCompletion', /signature is not valid/],
    [made.elsewhere, 'gateway.inference.v2.ChatService/CreateChatCompletion', /workspace/],
    [made.expired, 'gateway.admin.v2.LogsService/ListLogs', /has expired/],
  ] as const) {
    const found = records.find(
      (record) =>
        record.operation === operation &&
        String(record.request_headers).includes(masked(token)) &&
        detail.test(String(record.detail)),
    );
    t.truthy(found, `${operation} ${detail}`);
  }
  const everything = text + logLines.join('\n');
  for (const token of Object.values(made)) t.false(everything.includes(token.split('.')[2] ?? 'none'));
});
