// What guardrails say of a call, through the front door: denials soft and hard, claims, results beside the answer.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../../support/gateway.ts';

type Json = { readonly [name: string]: unknown };

let gateway: TestGateway;
let provider: FakeProvider;
let hook: http.Server;
let count = 0;
/** What webhooks were sent, by their path. */
const told = new Map<string, Json[]>();

test.before(async () => {
  hook = http.createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const list = told.get(req.url ?? '') ?? [];
      told.set(req.url ?? '', [...list, JSON.parse(Buffer.concat(chunks).toString()) as Json]);
      const deep = `{"verdict":true,"data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
      if (req.url === '/slow') return void setTimeout(() => res.end('{"verdict":true}'), 900);
      res.end(req.url === '/deep' ? deep : JSON.stringify({ verdict: !req.url?.startsWith('/no') }));
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFakeProvider(),
  ]);
});
test.after.always(async () => {
  await provider?.close();
  hook?.close();
  hook?.closeAllConnections();
  await gateway?.close();
});

const body = { model: 'gpt-ok', messages: [{ role: 'user', content: 'tell me a secret' }] };
const webhook = (path: string): Json => ({
  'default.webhook': { webhookURL: `http://127.0.0.1:${(hook.address() as AddressInfo).port}${path}` },
});
const contains = (word: string, more: Json = {}): Json => ({
  'default.contains': { words: [word], operator: 'none' },
  ...more,
});

/** A call by a config for a host of its own. */
async function ask(config: (host: string) => Json, request: Json = {}, headers: Record<string, string> = {}) {
  const mark = `/guardrails-${++count}`;
  const target = (host: string): Json => ({ provider: 'openai', api_key: 'k', custom_host: host });
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({
        ...target(provider.origin + mark),
        ...config(provider.origin + mark),
      }),
      ...headers,
    },
    body: JSON.stringify({ ...body, ...request }),
  });
  const text = await answer.text();
  const events = text
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Json);
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: (text.startsWith('{') ? JSON.parse(text) : {}) as Json,
    events,
    sent: provider.seen.filter(({ url }) => url.startsWith(`${mark}/`)),
  };
}

const choice = (json: Json | undefined): Json => (json?.choices as Json[] | undefined)?.[0] ?? {};
const said = (events: readonly Json[]): string =>
  events.map((event) => String((choice(event).delta as Json | undefined)?.content ?? '')).join('');

test('a soft denial of a request is a reply of status 200, whole and streamed', async (t) => {
  const config = () => ({ input_guardrails: [contains('secret', { soft_deny_200: true })] });
  const whole = await ask(config);
  t.is(whole.status, 200);
  t.is(whole.sent.length, 0);
  t.is(choice(whole.json).finish_reason, 'content_filter');
  t.regex(String((choice(whole.json).message as Json).content), /guardrail/);
  t.like(whole.json.hook_results, { before_request_hooks: [{ verdict: false, deny: true }] });
  const streamed = await ask(config, { stream: true });
  t.is(streamed.status, 200);
  t.true(streamed.text.endsWith('data: [DONE]\n\n'));
  t.regex(said(streamed.events), /guardrail/);
  t.is(choice(streamed.events.at(-1)).finish_reason, 'content_filter');
});

test('a soft denial of an answer is one too, and a fallback moves on from it before', async (t) => {
  const soft = { output_guardrails: [contains('Hello', { soft_deny_200: true })] };
  const alone = await ask(() => soft);
  t.is(alone.status, 200);
  t.is(alone.sent.length, 1);
  t.is(choice(alone.json).finish_reason, 'content_filter');
  t.notRegex(JSON.stringify(choice(alone.json)), /Hello/);
  const streamed = await ask(() => soft, { stream: true });
  t.notRegex(streamed.text, /Hello/);
  t.regex(said(streamed.events), /guardrail/);
  t.true(streamed.text.endsWith('data: [DONE]\n\n'));
  for (const stream of [false, true]) {
    const moved = await ask(
      () => ({ strategy: { mode: 'fallback' }, targets: [soft, { override_params: { seed: 1 } }] }),
      { stream },
    );
    t.is(moved.headers.get('x-gateway-last-used-option-index'), 'config.targets[1]');
    t.regex(moved.text, /Hello|"H"/);
  }
});

test('a soft denial in the middle of a stream ends the answer as a filter does', async (t) => {
  const path = `/guardrails-${count + 1}/chat/completions`;
  provider.next(path, async (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const content of ['a'.repeat(400), 'b'.repeat(400), ' FORBIDDEN ', 'more'])
      res.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`,
      );
    res.end('data: [DONE]\n\n');
  });
  const { status, events, text } = await ask(
    () => ({ output_guardrails: [contains('FORBIDDEN', { soft_deny_200: true })] }),
    { stream: true },
  );
  t.is(status, 200);
  t.regex(said(events), /^a{400}/);
  t.notRegex(text, /FORBIDDEN|more/);
  t.is(choice(events.at(-1)).finish_reason, 'content_filter');
  t.true(text.endsWith('data: [DONE]\n\n'));
});

test('the 446 of a stream tells its results as any other does', async (t) => {
  const { status, json } = await ask(() => ({ output_guardrails: [contains('Hello', { deny: true })] }), {
    stream: true,
  });
  t.is(status, 446);
  t.like(json.hook_results, { after_request_hooks: [{ verdict: false, deny: true }] });
});

test('a kept stream holds the results of nobody else’s guardrails', async (t) => {
  const mark = `/guardrails-shared-${++count}`;
  const config = () => ({
    custom_host: provider.origin + mark,
    strict_open_ai_compliance: false,
    cache: { mode: 'simple' },
    output_guardrails: [contains('nothing')],
  });
  const told = ({ events }: { events: readonly Json[] }) =>
    events.filter((event) => 'hook_results' in event).length;
  const first = await ask(config, { stream: true });
  t.is(first.headers.get('x-gateway-cache-status'), 'MISS');
  t.is(told(first), 1);
  const second = await ask(config, { stream: true });
  t.is(second.headers.get('x-gateway-cache-status'), 'HIT');
  t.is(told(second), 0);
  t.is(said(second.events), said(first.events));
});

test('guardrails of a request run once, at whichever targets they stand', async (t) => {
  const path = `/once-${++count}`;
  const { status, sent } = await ask(() => ({
    strategy: { mode: 'fallback' },
    retry: { attempts: 1, on_status_codes: [503] },
    input_guardrails: [webhook(path)],
    targets: [
      { override_params: { model: 'status-500' }, output_guardrails: [contains('nothing')] },
      { override_params: { seed: 1 } },
    ],
  }));
  t.is(status, 200);
  t.is(sent.length, 2);
  t.is(told.get(path)?.length, 1);
});

test('guardrails of an answer are told whether its request was written to', async (t) => {
  for (const [rule, transformed] of [
    ['secret', true],
    ['nothing', false],
  ] as const) {
    const path = `/told-${++count}`;
    await ask(() => ({
      input_mutators: [{ 'default.regexReplace': { rule, redactText: 'story' } }],
      output_guardrails: [webhook(path)],
    }));
    t.like(told.get(path), [{ request: { isTransformed: transformed } }]);
  }
});

test('a webhook that answers with a nest without end is one that does not answer', async (t) => {
  for (const side of ['input_guardrails', 'output_guardrails']) {
    const { status, json } = await ask(() => ({ [side]: [webhook('/deep')] }));
    t.is(status, 200);
    t.regex(JSON.stringify(json.hook_results), /did not answer with a JSON object/);
  }
});

test('the time of guardrails is not the provider’s', async (t) => {
  for (const side of ['input_guardrails', 'output_guardrails']) {
    const { status, sent, headers } = await ask(() => ({ request_timeout: 700, [side]: [webhook('/slow')] }));
    t.is(status, 200);
    t.is(sent.length, 1);
    t.is(headers.get('x-gateway-retry-attempt-count'), '0');
  }
  const { status } = await ask(() => ({ request_timeout: 150, input_guardrails: [webhook('/fine')] }), {
    model: 'hang',
  });
  t.is(status, 408);
});

test('an asynchronous guardrail is told to the log, without what was said', async (t) => {
  const trace = `trace-${++count}`;
  const { status, json } = await ask(
    () => ({ input_guardrails: [{ ...webhook('/no'), id: 'late', async: true }] }),
    {},
    { 'x-gateway-trace-id': trace },
  );
  t.is(status, 200);
  t.like(json.hook_results, { before_request_hooks: [{ id: 'late', skipped: true, async: true }] });
  const find = () => gateway.logLines.find((line) => line.includes(trace) && line.includes('"late"'));
  for (let i = 0; i < 200 && find() === undefined; i++)
    await new Promise((resolve) => setTimeout(resolve, 5));
  const line = JSON.parse(find() ?? '{}') as Json;
  t.like(line, { traceId: trace, guardrail: 'late', verdict: false, failedChecks: ['default.webhook'] });
  t.notRegex(JSON.stringify(line), /secret/);
});

test('claims go on in the place of what the caller says', async (t) => {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const token = await new SignJWT({ sub: 'u1' })
    .setProtectedHeader({ alg: 'RS256', kid: 'k' })
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(privateKey);
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }] };
  const { status, sent, text } = await ask(
    () => ({
      forward_headers: ['X-Jwt-Sub', 'x-jwt-role', 'x-team'],
      input_guardrails: [
        { 'default.jwt': { jwks, headerKey: 'x-user-token', extractClaims: ['sub', 'role'] }, deny: true },
      ],
    }),
    {},
    { 'x-user-token': token, 'x-jwt-sub': 'forged', 'x-jwt-role': 'admin', 'x-team': 'a' },
  );
  t.is(status, 200, text);
  t.is(sent[0]?.headers['x-jwt-sub'], 'u1');
  t.is(sent[0]?.headers['x-jwt-role'], undefined);
  t.is(sent[0]?.headers['x-team'], 'a');
});
