// Limits through the front door: what is let through, what is refused and how, and what is in the books after.
import test, { type ExecutionContext } from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway(), startFakeProvider()]);
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

type Json = Record<string, unknown>;

async function admin(verb: string, path: string, body?: Json): Promise<Json> {
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const json = (await answer.json()) as Json;
  if (answer.status !== 200) throw new Error(`${verb} ${path}: ${JSON.stringify(json)}`);
  return json;
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Json;
}

async function chat(
  headers: Record<string, string> = {},
  body: Json = {},
  key: string = WORKSPACE_KEY,
): Promise<Answered> {
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': key,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': provider.origin,
      authorization: 'Bearer sk-provider',
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 10,
      ...body,
    }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    json: text.startsWith('{') ? (JSON.parse(text) as Json) : { text },
  };
}

let count = 0;
/** Metadata that only this test's policies match. */
function own(): { readonly headers: Record<string, string>; readonly conditions: Json[] } {
  const team = `team-${++count}`;
  return {
    headers: { 'x-gateway-metadata': JSON.stringify({ team, user: 'a' }) },
    conditions: [{ key: 'metadata.team', value: team }],
  };
}

function refusedByRate(t: ExecutionContext, { status, headers, json }: Answered): void {
  t.is(status, 429);
  t.true(Number(headers.get('retry-after')) > 0);
  t.is((json.error as Json).code, 'rate_limited');
}

test('a rate of N lets N through at once and says when to come again', async (t) => {
  const { headers, conditions } = own();
  const { id } = await admin('POST', '/policies/rate-limits', {
    name: 'three',
    conditions,
    group_by: [{ key: 'api_key' }],
    type: 'requests',
    unit: 'rpm',
    value: 3,
  });
  const answers = await Promise.all(Array.from({ length: 20 }, () => chat(headers)));
  const passed = answers.filter(({ status }) => status === 200);
  t.is(passed.length, 3);
  t.deepEqual(passed.map((answer) => answer.headers.get('x-ratelimit-remaining-requests')).toSorted(), [
    '0',
    '1',
    '2',
  ]);
  t.is(passed[0]?.headers.get('x-ratelimit-limit-requests'), '3');
  const refused = answers.find(({ status }) => status === 429);
  if (refused === undefined) return t.fail();
  refusedByRate(t, refused);
  t.regex(String((refused.json.error as Json).message), /policy "three" of 3 requests per minute/);
  t.is((await chat()).status, 200, 'others are not limited');
  await admin('PUT', `/policies/rate-limits/${id}`, { value: 4 });
  t.is((await chat(headers)).status, 200, 'one more now');
  t.is((await chat(headers)).status, 429);
  await admin('DELETE', `/policies/rate-limits/${id}`);
  t.is((await chat(headers)).status, 200, 'no policy, no limit');
});

test('groups count apart', async (t) => {
  const { headers, conditions } = own();
  await admin('POST', '/policies/rate-limits', {
    conditions,
    group_by: [{ key: 'metadata.user' }],
    type: 'requests',
    unit: 'rph',
    value: 1,
  });
  const other = { 'x-gateway-metadata': headers['x-gateway-metadata']!.replace('"a"', '"b"') };
  t.is((await chat(headers)).status, 200);
  refusedByRate(t, await chat(headers));
  t.is((await chat(other)).status, 200);
  refusedByRate(t, await chat(other));
});

test('a denied call takes nothing of the other limits', async (t) => {
  const { headers, conditions } = own();
  const policy = { conditions, type: 'requests', group_by: [{ key: 'api_key' }] };
  await admin('POST', '/policies/rate-limits', { ...policy, unit: 'rpm', value: 2 });
  const { id } = await admin('POST', '/policies/rate-limits', { ...policy, unit: 'rpd', value: 1 });
  t.is((await chat(headers)).status, 200);
  for (let i = 0; i < 3; i++) refusedByRate(t, await chat(headers));
  await admin('DELETE', `/policies/rate-limits/${id}`);
  t.is((await chat(headers)).status, 200, 'the refused ones did not count');
  refusedByRate(t, await chat(headers));
});

test('tokens are held in the worst case and settled on what was used', async (t) => {
  const { headers, conditions } = own();
  await admin('POST', '/policies/rate-limits', {
    conditions,
    group_by: [{ key: 'api_key' }],
    type: 'tokens',
    unit: 'rpm',
    value: 2000,
  });
  const never = await chat(headers, { max_tokens: 2000 });
  t.is(never.status, 429);
  t.is(never.headers.get('retry-after'), null, 'it would never pass');
  const first = await chat(headers, { max_tokens: 1900 });
  t.is(first.status, 200);
  const { total_tokens: used } = first.json.usage as { total_tokens: number };
  t.true(used < 200);
  // Settled behind the answer: then there is room again.
  let second = await chat(headers, { max_tokens: 1800 });
  for (let i = 0; i < 20 && second.status !== 200; i++) second = await chat(headers, { max_tokens: 1800 });
  t.is(second.status, 200);
});

test('a policy says what it assumes of calls that state no maximum', async (t) => {
  const { headers, conditions } = own();
  const policy = {
    conditions,
    group_by: [{ key: 'api_key' }],
    type: 'tokens',
    unit: 'rpd',
    value: 500,
  };
  const { id } = await admin('POST', '/policies/rate-limits', policy);
  t.is((await admin('GET', `/policies/rate-limits/${id}`)).assumed_output_tokens, 1024);
  const unstated = { max_tokens: undefined };
  const refused = await chat(headers, unstated);
  t.is(refused.status, 429, '1,024 tokens do not fit under 500');
  await admin('PUT', `/policies/rate-limits/${id}`, { assumed_output_tokens: 100 });
  t.is((await admin('GET', `/policies/rate-limits/${id}`)).assumed_output_tokens, 100);
  t.is((await chat(headers, unstated)).status, 200);
  t.is((await chat(headers, { max_tokens: 600 })).status, 429, 'what is stated counts');
  t.is((await chat(headers, { ...unstated, n: 6 })).status, 429, 'for each answer');
  const budget = { conditions, group_by: [{ key: 'api_key' }], credit_limit: 500 };
  const { id: second } = await admin('POST', '/policies/usage-limits', {
    ...budget,
    type: 'tokens',
    assumed_output_tokens: 200,
  });
  t.is((await chat(headers, unstated)).status, 200);
  await admin('PUT', `/policies/usage-limits/${second}`, { assumed_output_tokens: null });
  t.is((await chat(headers, unstated)).status, 412, '1,024 again');
  const wrong = await t.throwsAsync(
    admin('POST', '/policies/usage-limits', { ...budget, type: 'requests', assumed_output_tokens: 5 }),
  );
  t.regex(String(wrong), /assumed_output_tokens: must not be given for requests/);
});

test('a budget that is spent answers 412 and names its policy', async (t) => {
  const { headers, conditions } = own();
  await admin('POST', '/policies/usage-limits', {
    name: 'two calls',
    conditions,
    group_by: [{ key: 'workspace_id' }],
    type: 'requests',
    credit_limit: 2,
  });
  t.is((await chat(headers)).status, 200);
  t.is((await chat(headers, { stream: true })).status, 200);
  const { status, json } = await chat(headers);
  t.is(status, 412);
  t.is((json.error as Json).code, 'budget_exhausted');
  t.regex(String((json.error as Json).message), /policy "two calls"/);
});

test('limits of a key and of its workspace hold together', async (t) => {
  await admin('POST', '/admin/workspaces', {
    name: 'Limited',
    slug: 'limited',
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 3 }],
  });
  const keys = await Promise.all(
    [2, 5].map((value) =>
      admin('POST', '/api-keys/workspace/service', {
        name: 'k',
        workspace_id: 'limited',
        scopes: ['completions.write'],
        rate_limits: [{ type: 'requests', unit: 'rps', value }],
      }),
    ),
  );
  const [first, second] = keys.map(({ key }) => String(key));
  const answers = await Promise.all(Array.from({ length: 6 }, () => chat({}, {}, first)));
  t.is(answers.filter(({ status }) => status === 200).length, 2, 'the key has two a second');
  const others = await Promise.all(Array.from({ length: 6 }, () => chat({}, {}, second)));
  t.is(others.filter(({ status }) => status === 200).length, 1, 'the workspace has three a minute');
  const refused = others.find(({ status }) => status === 429);
  t.regex(JSON.stringify(refused?.json), /the workspace/);
});

test('money is exact and stops where the budget ends', async (t) => {
  // 10 tokens out at 10 millionths of a dollar each; the prompt costs 2.5 millionths a token.
  const { key } = await admin('POST', '/api-keys/workspace/service', {
    name: 'm',
    workspace_id: 'default',
    scopes: ['completions.write'],
    usage_limits: { type: 'cost', credit_limit: 1 },
  });
  t.is((await chat({}, { max_tokens: 90_000 }, String(key))).status, 200);
  const { status, json } = await chat({}, { max_tokens: 200_000 }, String(key));
  t.is(status, 412);
  t.regex(String((json.error as Json).message), /the usage limit of the API key \(cost\)/);
});

test('metadata that a workspace gives wins, and policies see it', async (t) => {
  const { conditions, headers } = own();
  const { team } = JSON.parse(headers['x-gateway-metadata']!) as { team: string };
  await admin('POST', '/admin/workspaces', {
    name: 'Tagged',
    slug: 'tagged',
    defaults: { metadata: { team } },
  });
  const { key } = await admin('POST', '/api-keys/workspace/service', {
    name: 'k',
    workspace_id: 'tagged',
    scopes: ['completions.write'],
  });
  await admin('POST', '/policies/rate-limits', {
    conditions,
    group_by: [{ key: 'organisation_id' }],
    type: 'requests',
    unit: 'rpm',
    value: 1,
  });
  const forged = { 'x-gateway-metadata': JSON.stringify({ team: 'another' }) };
  t.is((await chat(forged, {}, String(key))).status, 200);
  refusedByRate(t, await chat(forged, {}, String(key)));
});
