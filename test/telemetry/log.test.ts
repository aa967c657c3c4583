// The log: lines about calls carry their ids, and no line ever carries a secret.
import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { MASKED } from '../../src/access/audit/secrets.ts';
import { fail } from '../../src/lib/errors.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

/** No form of a key that is known: only whoever holds it can take it out. */
const STORED = 'zq7-stored-credential-of-nobodys-form';
const GIVEN = 'zq7-given-credential-of-nobodys-form';
const WRONG = 'slk_wrong_gateway_key_0123456789';
const PROMPT = 'zq7 what the caller asked in confidence';

type Json = Record<string, unknown>;

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway({ LOG_LEVEL: 'trace' }), startFakeProvider()]);
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

/** A line as it is written. */
function written(write: (log: ReturnType<typeof createLog>) => void): Json {
  const lines: string[] = [];
  write(createLog('trace', { write: (line: string) => void lines.push(line) }));
  return JSON.parse(lines[0] ?? '{}') as Json;
}

test('members with a secret’s name are masked, however deep', (t) => {
  const line = written((log) =>
    log.info(
      {
        headers: { authorization: 'x', 'x-api-key': 'x', Cookie: 'x', accept: 'json' },
        settings: [{ apiKey: 'x', clientSecret: 'x', password: 'x', private_key: 'x', keyId: 'k-1' }],
        totalTokens: 12,
      },
      'm',
    ),
  );
  t.deepEqual(line.headers, { authorization: MASKED, 'x-api-key': MASKED, Cookie: MASKED, accept: 'json' });
  t.deepEqual(line.settings, [
    { apiKey: MASKED, clientSecret: MASKED, password: MASKED, private_key: MASKED, keyId: 'k-1' },
  ]);
});

test('what looks like a secret is masked in any text', (t) => {
  for (const secret of [
    'slk_0123456789abcdef',
    'sk-proj-0123456789abcdef',
    'Bearer abcdefgh12345678',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
    'redis://user:hunter2hunter2@host',
    '-----BEGIN PRIVATE KEY-----\nMIIE"quoted"',
  ]) {
    const line = written((log) => log.warn({ note: `a ${secret} b` }, `before ${secret} after`));
    t.false(JSON.stringify(line).includes(secret.replace('redis://user:', '').replace('@host', '')), secret);
    t.regex(String(line.msg), /^before .*\[masked\]/s);
  }
});

test('of an error what a reader needs is written, and not what libraries hang on it', (t) => {
  const cause = Object.assign(new Error('refused with sk-0123456789abcdef'), {
    code: 'ECONNREFUSED',
    config: { headers: { authorization: 'Bearer zq7' } },
    request: PROMPT,
  });
  const error = fail('internal', 'it broke', { cause, members: { body: PROMPT } });
  const { err } = written((log) => log.error({ err: error }, 'm')) as { err: Json };
  t.like(err, { type: 'GatewayError', message: 'it broke', reason: 'internal' });
  t.like(err.cause, { message: `refused with ${MASKED}`, code: 'ECONNREFUSED' });
  t.regex(String(err.stack), /log\.test\.ts/);
  t.false(JSON.stringify(err).includes('zq7'));
  const bare = written((log) => log.error(new Error('only an error')));
  t.like(bare, { msg: 'only an error', err: { message: 'only an error' } });
});

test('what cannot be written as JSON does not end the process', (t) => {
  const loop: Json = { big: 12n, bytes: Buffer.from('secret') };
  loop.self = loop;
  const line = written((log) => log.info({ loop, many: Array.from({ length: 1000 }, () => 'x') }, 'm'));
  t.like(line.loop, { big: '12', bytes: '[6 bytes]' });
  t.is((line.many as unknown[]).length, 100);
  t.true(JSON.stringify(written((log) => log.info('x'.repeat(1_000_000)))).length < 10_000);
});

interface Asked {
  readonly headers: Readonly<Record<string, string>>;
  readonly model?: string;
  readonly path?: string;
}

async function ask({
  headers,
  model = 'gpt-4o-mini',
  path = '/chat/completions',
}: Asked): Promise<[Response, string]> {
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': WORKSPACE_KEY, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: PROMPT }] }),
  });
  return [answer, await answer.text()];
}

/** A provider that shows whoever asks the credential that it was given, once; and where it is. */
function echoNext(mark: string): string {
  provider.next(`/${mark}/chat/completions`, (req, res) => {
    const credential = String(req.headers.authorization).slice(7);
    res.writeHead(401, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({ error: { message: `Incorrect API key provided: ${credential}`, type: 'auth' } }),
    );
  });
  return `${provider.origin}/${mark}`;
}

const lineOf = (t: ExecutionContext, answer: Response): Json => {
  const id = answer.headers.get('x-gateway-request-id')!;
  const line = gateway.logLines.find((one) => one.includes(id));
  t.truthy(line, 'a line about the call');
  return JSON.parse(line ?? '{}') as Json;
};

test('a call’s line has its ids, and what became of it', async (t) => {
  const headers = {
    'x-gateway-provider': 'openai',
    'x-gateway-custom-host': provider.origin,
    authorization: `Bearer ${GIVEN}`,
  };
  const [answer] = await ask({ headers });
  t.is(answer.status, 200);
  t.like(lineOf(t, answer), {
    level: 20,
    requestId: answer.headers.get('x-gateway-request-id'),
    traceId: answer.headers.get('x-gateway-trace-id'),
    operation: 'gateway.inference.v2.ChatService/CreateChatCompletion',
    status: 200,
    provider: 'openai',
    model: 'gpt-4o-mini',
  });
  const [failed] = await ask({ headers, model: 'status-500' });
  t.like(lineOf(t, failed), { status: 500, reason: 'upstream_status' });
  const [refused] = await ask({ headers: { ...headers, 'x-gateway-api-key': WRONG } });
  t.like(lineOf(t, refused), { status: 401, reason: 'unauthenticated' });
});

test('a provider that echoes a stored credential gives it to nobody', async (t) => {
  const integration = await ok(gateway, 'POST', '/integrations', {
    key: ADMIN_KEY,
    body: {
      name: 'Echo',
      slug: 'echo',
      ai_provider_id: 'openai',
      key: STORED,
      configurations: { custom_host: echoNext('stored') },
    },
  });
  t.truthy(integration.id);
  await ok(gateway, 'PUT', '/integrations/echo/workspaces', {
    key: ADMIN_KEY,
    body: { global_workspace_access: { enabled: true } },
  });
  await ok(gateway, 'POST', '/providers', {
    body: { name: 'Echo', slug: 'echo', integration_id: 'echo' },
    key: WORKSPACE_KEY,
  }).catch(() => ok(gateway, 'GET', '/providers/echo', { key: WORKSPACE_KEY }).catch(() => undefined));
  const [answer, text] = await ask({ headers: { 'x-gateway-provider': '@echo' } });
  t.is(answer.status, 401, text);
  t.regex(text, /Incorrect API key provided/);
  t.false(text.includes(STORED), text);
  const logs = await ok(gateway, 'GET', '/logs?page_size=100');
  t.false(JSON.stringify(logs).includes(STORED));
});

test('one that echoes the caller’s own', async (t) => {
  const [answer, text] = await ask({
    headers: {
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': echoNext('given'),
      authorization: `Bearer ${GIVEN}`,
    },
  });
  t.is(answer.status, 401);
  t.false(text.includes(GIVEN), text);
});

test('bad input: a broken config, a key in a model, a stream that breaks off', async (t) => {
  const route = { 'x-gateway-provider': 'openai', 'x-gateway-custom-host': provider.origin };
  const auth = { authorization: `Bearer ${GIVEN}` };
  const broken = { ...auth, 'x-gateway-config': `{"api_key":"${STORED}",` };
  t.is((await ask({ headers: broken }))[0].status, 400);
  await ask({ headers: { ...auth, ...route }, model: WRONG });
  t.is((await ask({ headers: { ...auth, ...route }, model: 'reset' }))[0].status, 502);
  t.is((await ask({ headers: { ...auth, ...route }, model: 'garbage' }))[0].status, 502);
  const [, answered] = await ask({
    headers: { ...auth, ...route },
    path: `/proxy/nothing?api_key=${STORED}`,
  });
  t.false(answered.includes(GIVEN));
});

test.after('in all that was logged there is no secret', (t) => {
  t.true(gateway.logLines.length > 8);
  const all = gateway.logLines.join('\n');
  for (const secret of [STORED, GIVEN, WRONG, PROMPT, WORKSPACE_KEY, ADMIN_KEY])
    t.false(all.includes(secret), secret);
  for (const line of gateway.logLines) t.notThrows(() => JSON.parse(line));
});

test('nothing in the product makes a log without the masks', (t) => {
  for (const file of ['cli/start.ts', 'app.ts', 'app/stores.ts'])
    t.notRegex(readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8'), /\bpino\(/);
});
