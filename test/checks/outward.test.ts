// The checks that call out: what they send and never send, where they may not call, how long and how much they wait for.
import test from 'ava';
import type { JsonObject } from '../../src/checks/view/traffic.ts';
import { answering, answerJson, bench, call, faultsOf, listen, runHooks, runOne, saying } from './try-out.ts';

const HEADERS = {
  authorization: 'Bearer caller-secret',
  'x-api-key': 'caller-secret',
  cookie: 'caller-secret',
  'x-gateway-api-key': 'caller-secret',
  'x-gateway-config': '{"api_key":"caller-secret"}',
  'x-gateway-trace-id': 'trace-1',
  'x-tenant': 'acme',
};

test('a webhook is sent the call and none of the caller’s headers, and its verdict counts', async (t) => {
  const checks = bench(t);
  const { url, asked } = await listen(t, (_, response) =>
    answerJson(response, { verdict: false, data: { why: 'no' } }),
  );
  const traffic = saying('hello', { headers: HEADERS, metadata: { team: 'a' }, streaming: true });
  const hook = `${url}/hook?token=query-secret`;
  const result = await runOne(checks, traffic, 'webhook', {
    webhookURL: hook,
    headers: { 'X-Own': 'own-secret' },
  });
  t.false(result.verdict);
  t.like(result.data, {
    webhookUrl: `${url}/hook`,
    responseData: { why: 'no' },
    requestContext: { timeout: 3000 },
  });
  t.notRegex(JSON.stringify(result), /secret/);
  t.is(asked.length, 1);
  t.like(asked[0], { method: 'POST', path: '/hook?token=query-secret' });
  t.is(asked[0]?.headers['x-own'], 'own-secret');
  t.notRegex(JSON.stringify(asked), /caller-secret|trace-1|acme/);
  t.deepEqual(JSON.parse(asked[0]?.body ?? ''), {
    request: { json: traffic.request.json, text: 'hello', isStreamingRequest: true, isTransformed: false },
    response: { json: null, text: '', statusCode: null, isTransformed: false },
    provider: 'openai',
    requestType: 'chatComplete',
    metadata: { team: 'a' },
    eventType: 'beforeRequestHook',
  });
});

test('headers that a parameter names are handed on, credentials never', async (t) => {
  const checks = bench(t);
  const { url, asked } = await listen(t, (_, response) => answerJson(response, {}));
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const forwardHeaders = ['X-Tenant', 'x-gateway-trace-id', 'x-gateway-config', 'traceparent', 'absent'];
  const result = await runOne(checks, saying('x', { headers: HEADERS, traceId }), 'webhook', {
    webhookURL: url,
    forwardHeaders,
  });
  t.true(result.verdict);
  t.like(asked[0]?.headers, { 'x-tenant': 'acme', 'x-gateway-trace-id': 'trace-1' });
  t.regex(String(asked[0]?.headers.traceparent), /^00-0af7651916cd43dd8448eb211c80319c-[\da-f]{16}-01$/);
  t.is(asked[0]?.headers['x-gateway-config'], undefined);
  for (const name of ['Authorization', 'cookie', 'X-Api-Key', 'connection', 'metadata-flavor']) {
    t.regex(
      faultsOf('input', { webhook: { webhookURL: url, forwardHeaders: [name] } })[0] ?? '',
      /forwardHeaders\[0\]: .* is never handed on/,
    );
  }
});

test('a webhook may write to the side that it judges, and to no other', async (t) => {
  const checks = bench(t);
  const written = {
    request: { json: { messages: [{ role: 'user', content: 'new' }] } },
    response: { json: { choices: [] } },
  };
  const { url, asked } = await listen(t, (_, response) =>
    answerJson(response, { verdict: true, transformedData: written }),
  );
  const before = await runHooks(
    checks,
    saying('old'),
    { webhook: { webhookURL: url } },
    { log: { logURL: url } },
  );
  t.deepEqual(before.request, written.request.json);
  t.is(before.response, undefined);
  const after = await runHooks(
    checks,
    answering('old'),
    { webhook: { webhook_url: url } },
    { again: { id: 'webhook', webhookURL: url }, sequential: true },
  );
  t.deepEqual(after.response, written.response.json);
  t.notDeepEqual(after.request, written.request.json);
  const last = JSON.parse(asked.at(-1)?.body ?? '');
  t.deepEqual(last.response.json.choices[0].message.content, 'old');
  t.is(last.eventType, 'afterRequestHook');
});

test('a webhook that fails is an error of the check, in every way that it can fail', async (t) => {
  const checks = bench(t);
  const bodies: Readonly<Record<string, unknown>> = {
    '/list': [],
    '/word': { verdict: 'yes' },
    '/body': { transformedData: { request: { json: 'x' } } },
  };
  const { url } = await listen(t, ({ path }, response) => {
    if (path === '/silent') return;
    if (path === '/cut') response.destroy();
    else if (path === '/500') answerJson(response, { verdict: true }, 500);
    else if (path === '/redirect') response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    else if (path === '/html') response.end('<html>');
    else if (path === '/huge') response.end(`{"verdict":true,"x":"${'x'.repeat(5_000_000)}"}`);
    else answerJson(response, bodies[path]);
  });
  const rows: readonly (readonly [string, string, RegExp])[] = [
    [`${url}/silent`, 'TimeoutError', /did not answer within 300 ms/],
    [`${url}/cut`, 'CallFailedError', /./],
    [`${url}/500`, 'CallFailedError', /status 500/],
    [`${url}/redirect`, 'CallFailedError', /status 302/],
    [`${url}/html`, 'InvalidResponseError', /JSON object/],
    [`${url}/huge`, 'CallFailedError', /longer than/],
    [`${url}/list`, 'InvalidResponseError', /JSON object/],
    [`${url}/word`, 'InvalidResponseError', /neither true nor false/],
    [`${url}/body`, 'InvalidResponseError', /no object/],
    ['http://127.0.0.1:1/', 'CallFailedError', /./],
  ];
  for (const [webhookURL, name, message] of rows) {
    const timeout = webhookURL.endsWith('silent') ? 300 : 20_000;
    const open = await runOne(checks, saying('x'), 'webhook', { webhookURL, timeout });
    t.is(open.error?.name, name, webhookURL);
    t.regex(open.error?.message ?? '', message);
    t.deepEqual([open.verdict, open.transformed], [true, false], webhookURL);
    const closed = await runOne(checks, saying('x'), 'webhook', { webhookURL, timeout, failOnError: true });
    t.false(closed.verdict, webhookURL);
  }
});

test('private and metadata addresses are refused by every check that calls out', async (t) => {
  const checks = bench(t, { allow: '' });
  const { url, asked } = await listen(t, (_, response) => answerJson(response, {}));
  const places = [
    url,
    'http://localhost:1234/',
    'http://169.254.169.254/latest',
    'http://[::1]/',
    'http://10.0.0.1/',
    'http://metadata.google.internal/',
  ];
  for (const place of places) {
    const rows: readonly (readonly [string, JsonObject])[] = [
      ['webhook', { webhookURL: place }],
      ['log', { logURL: place }],
      ['jwt', { jwksUri: place }],
    ];
    for (const [id, parameters] of rows) {
      const result = await runOne(
        checks,
        saying('x', { headers: { authorization: 'Bearer a.b.c' } }),
        id,
        parameters,
      );
      t.is(result.error?.name, 'CallFailedError', `${id} ${place}`);
    }
    const found = await runOne(checks, answering(`see ${place} now`), 'validUrls', {});
    t.false(found.verdict);
    t.deepEqual(found.data?.validUrls, []);
  }
  t.is(asked.length, 0);
});

test('a log is told of the call without the caller’s headers, and its verdict is always true', async (t) => {
  const checks = bench(t);
  const { url, asked } = await listen(t, ({ path }, response) =>
    answerJson(response, {}, path === '/bad' ? 503 : 200),
  );
  const well = await runOne(checks, call({ headers: HEADERS }), 'log', {
    logURL: `${url}/in?key=query-secret`,
    headers: '{"x-own":"own-secret"}',
  });
  t.true(well.verdict);
  t.deepEqual(well.data, { message: `Logged the request to ${url}/in` });
  t.is(asked[0]?.headers['x-own'], 'own-secret');
  t.notRegex(JSON.stringify(asked), /caller-secret|acme/);
  const bad = await runOne(checks, call(), 'log', { logUrl: `${url}/bad` });
  t.true(bad.verdict);
  t.like(bad.error, { name: 'CallFailedError', message: 'the log answered with status 503' });
});

test('URLs in a text are asked, and each must answer', async (t) => {
  const checks = bench(t, { resolver: { exists: async (host) => host === 'known.dev' } });
  const { url, asked } = await listen(t, ({ path }, response) => {
    const status = Number(path.slice(1)) || 200;
    response.writeHead(status, status === 302 ? { location: 'http://169.254.169.254/' } : {}).end();
  });
  const run = (text: string, parameters: JsonObject = {}) =>
    runOne(checks, answering(text), 'validUrls', parameters);
  const well = await run(`See ${url}/a, (${url}/b) and <${url}/wiki_(x)>! Or ${url}/302.`);
  t.true(well.verdict);
  t.deepEqual(well.data?.validUrls, [`${url}/a`, `${url}/b`, `${url}/wiki_(x)`, `${url}/302`]);
  t.is(well.data?.validationMethod, 'http');
  t.true(asked.every(({ method }) => method === 'HEAD'));
  const bad = await run(`${url}/a ${url}/404`);
  t.deepEqual([bad.verdict, bad.data?.invalidUrls], [false, [`${url}/404`]]);
  t.true((await run(`${url}/404`, { not: true })).verdict);
  t.true((await run(`${url}/405`)).verdict);
  t.false((await run('no URL')).verdict);
  t.true((await run('https://known.dev/x#part', { onlyDNS: true })).verdict);
  const unknown = await run('https://known.dev https://unknown.dev', { onlyDNS: true });
  t.deepEqual(unknown.data?.invalidUrls, ['https://unknown.dev']);
  const many = await run(Array.from({ length: 60 }, (_, i) => `${url}/${i}x`).join(' '));
  t.is(many.error?.name, 'InputTooLongError');
});

test('addresses and headers that are not well, without repeating what may be a credential', (t) => {
  const rows: readonly (readonly [JsonObject, RegExp])[] = [
    [{ webhook: {} }, /webhookURL: is required/],
    [{ webhook: { webhookURL: 'ftp://x' } }, /webhookURL: must be an http or https URL/],
    [
      { webhook: { webhookURL: 'https://user:top-secret@x.example' } },
      /webhookURL: must be an http or https URL without credentials/,
    ],
    [
      { webhook: { webhookURL: 'https://x.example', headers: { a: 'top-secret\r\nb: c' } } },
      /headers\.a: must be a text that a header can hold/,
    ],
    [{ webhook: { webhookURL: 'https://x.example', headers: { 'a b': 'x' } } }, /headers: has a name/],
    [{ webhook: { webhookURL: 'https://x.example', headers: '{"a":' } }, /headers: must be an object/],
    [{ webhook: { webhookURL: 'https://x.example', timeout: 60_000 } }, /timeout: must be a whole number/],
    [{ log: { logURL: 'nowhere' } }, /logURL: must be/],
  ];
  for (const [hook, pattern] of rows) {
    const faults = faultsOf('input', hook).join('\n');
    t.regex(faults, pattern);
    t.notRegex(faults, /top-secret/);
  }
});
