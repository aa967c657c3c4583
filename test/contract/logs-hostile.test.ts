// Bodies that callers made to be trouble for who reads them later, through the front door.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import test from 'ava';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { type Json, ok, send } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  provider = await startFakeProvider();
  gateway = await startGateway();
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

/** Passes a text through to the provider; answers the id of its entry, and its trace. */
async function passed(body: string): Promise<{ readonly id: string; readonly trace: string }> {
  const trace = randomUUID();
  const answer = await fetch(`${gateway.origin}/v1/proxy/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': `${provider.origin}/v1`,
      'x-gateway-trace-id': trace,
      'content-type': 'application/json',
    },
    body,
  });
  await answer.arrayBuffer();
  const { data } = await ok(gateway, 'GET', `/logs?trace_id=${trace}`);
  return { id: String((data as Json[])[0]?.id), trace };
}

const nested = (depth: number): string =>
  `{"model":"gpt-4o","x":${'{"x":'.repeat(depth)}1${'}'.repeat(depth)}}`;

for (const [name, body, isText] of [
  ['nested a hundred thousand levels deep', nested(100_000), true],
  ['nested deeper than clients can read', nested(30), true],
  ['nested as deep as clients can read', nested(29), false],
  ['with a number that is too great for one', '{"model":"gpt-4o","x":[1e999]}', true],
  ['with half a character', '{"model":"gpt-4o","x":"\\ud800"}', false],
  ['with a member that every object has', '{"model":"gpt-4o","__proto__":{"toString":1}}', false],
] as const)
  test(`a body ${name} is shown and exported`, async (t) => {
    const { id, trace } = await passed(body);
    const { request } = await ok(gateway, 'GET', `/logs/${id}`);
    t.is(typeof (request as Json).body, isText ? 'string' : 'object');
    const transport = createGrpcTransport({ baseUrl: gateway.origin });
    const headers = { 'x-gateway-api-key': ADMIN_KEY };
    const { request: shown } = await createClient(LogsService, transport).getLog({ logId: id }, { headers });
    t.is(shown?.body?.value.case, isText ? 'text' : 'object');
    const made = { filters: { trace_id: trace }, requested_data: ['request'] };
    const { id: exported } = await ok(gateway, 'POST', '/logs/exports', { body: made });
    await ok(gateway, 'POST', `/logs/exports/${exported}/start`);
    let state: Json = {};
    for (let i = 0; i < 200 && (state.status ?? 'in_progress') === 'in_progress'; i++) {
      await sleep(25);
      state = await ok(gateway, 'GET', `/logs/exports/${exported}`);
    }
    t.like(state, { status: 'success', total_records: 1 });
  });

test('a long body that is passed through is cut between characters, and says how much is left out', async (t) => {
  for (const letter of ['x', 'ü', '€']) {
    const body = JSON.stringify({ model: 'gpt-4o', x: letter.repeat(700_000) }).padEnd(1024 * 1024 + 9);
    const { id } = await passed(body);
    const request = (await ok(gateway, 'GET', `/logs/${id}`)).request as Json;
    const kept = String(request.body);
    t.true(body.startsWith(kept), letter);
    t.is(Buffer.byteLength(kept) + Number(request.truncated), Buffer.byteLength(body));
    t.true(Buffer.byteLength(kept) > 1024 * 1024 - 4);
  }
});

test('addresses of calls that were made elsewhere are kept without the credentials in them', async (t) => {
  const said = { body: { model: 'gpt-4o' } };
  const secrets = ['canary-1', 'canary-2', 'canary-3', 'canary-4'] as const;
  const [password, sig, key, token] = secrets;
  const url = `https://me:${password}@host/v1/x?sig=${sig}&k%65y=${key}&alt=sse#access_token=${token}`;
  const { id } = await ok(gateway, 'POST', '/logs', {
    key: WORKSPACE_KEY,
    body: { request: { ...said, url }, response: said },
  });
  const { json } = await send(gateway, 'GET', `/logs/${id}`);
  for (const secret of secrets) t.false(JSON.stringify(json).includes(secret), secret);
  t.true(String((json.request as Json).url).includes('host/v1/x?sig=***&k%65y=***&alt=sse'));
});

test('a host with credentials in it, which is refused, is kept without them', async (t) => {
  const trace = randomUUID();
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': 'https://me:canary-1@host/v1?key=canary-2',
      'x-gateway-trace-id': trace,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'x' }] }),
  });
  t.is(answer.status, 400);
  const { data } = await ok(gateway, 'GET', `/logs?trace_id=${trace}`);
  const [entry] = data as Json[];
  const detail = await ok(gateway, 'GET', `/logs/${entry?.id}`);
  const { headers } = detail.request as { readonly headers: Json };
  t.is(headers['x-gateway-custom-host'], 'https://***@host/v1?key=***');
  t.false(JSON.stringify([entry, detail]).includes('canary'));
});

test('texts with half a character or a null byte in them are kept, and shown over every protocol', async (t) => {
  const trace = randomUUID();
  const odd = 'a\0b\ud800';
  const { id } = await ok(gateway, 'POST', '/logs', {
    key: WORKSPACE_KEY,
    body: {
      request: { url: `/v1/${odd}`, body: { model: odd }, provider: odd, headers: { 'x-odd': odd } },
      response: { body: { model: odd } },
      metadata: { trace_id: trace, user: odd, [odd]: odd },
    },
  });
  await ok(gateway, 'POST', '/feedback', {
    key: WORKSPACE_KEY,
    body: { trace_id: trace, value: 1, metadata: { [odd]: odd } },
  });
  const { data } = await ok(gateway, 'GET', `/logs?trace_id=${trace}`);
  const [entry] = data as { metadata: Json; feedback: { metadata: Json }[] }[];
  t.is(entry?.metadata[odd], odd);
  t.is(entry?.feedback[0]?.metadata[odd], odd);
  const client = createClient(LogsService, createGrpcTransport({ baseUrl: gateway.origin }));
  const headers = { 'x-gateway-api-key': ADMIN_KEY };
  const { entry: shown } = await client.getLog({ logId: String(id) }, { headers });
  t.is(shown?.metadata._user, odd.toWellFormed());
  t.is((await client.listLogs({ traceId: trace }, { headers })).data.length, 1);
  await ok(gateway, 'GET', `/traces/${trace}`);
});
