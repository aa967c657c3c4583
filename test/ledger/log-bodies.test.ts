// What is kept of what was said in calls, through the front door: by setting, by workspace, by header.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

interface Message {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  readonly url?: string;
}

interface Detail {
  readonly request?: Message;
  readonly response?: Message;
  readonly transformedRequest?: Message;
  readonly originalResponse?: Message;
}

interface Entry {
  readonly id: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly cache_status?: string;
  readonly retries?: number;
}

interface House {
  readonly gateway: TestGateway;
  readonly provider: FakeProvider;
  call(body: object, headers?: Readonly<Record<string, string>>, path?: string): Promise<Response>;
  admin(method: string, path: string, body?: object): Promise<unknown>;
  /** The newest entry, and what is kept beside it. */
  last(): Promise<{ readonly entry: Entry; readonly detail: Detail; readonly text: string }>;
}

async function house(t: ExecutionContext, env: Readonly<Record<string, string>> = {}): Promise<House> {
  const provider = await startFakeProvider();
  const gateway = await startGateway(env);
  t.teardown(async () => {
    await gateway.close();
    await provider.close();
  });
  const admin = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`${gateway.origin}/v1${path}`, {
      method,
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    t.is(answer.status, 200, text);
    return JSON.parse(text);
  };
  return {
    gateway,
    provider,
    admin,
    call: (body, headers = {}, path = '/chat/completions') =>
      fetch(`${gateway.origin}/v1${path}`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': WORKSPACE_KEY,
          'x-gateway-provider': 'openai',
          'x-gateway-custom-host': `${provider.origin}/v1`,
          authorization: 'Bearer sk-very-secret-of-the-caller',
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify(body),
      }),
    async last() {
      const { data } = (await admin('GET', '/logs?page_size=1')) as { data: Entry[] };
      const entry = data[0]!;
      const detail = (await admin('GET', `/logs/${entry.id}`)) as Detail;
      return { entry, detail, text: JSON.stringify(detail) };
    },
  };
}

const ASK = { model: 'gpt-4o', messages: [{ role: 'user', content: 'what is kept?' }] };

test('a call’s request and answer are beside its entry, without a secret', async (t) => {
  const { call, last } = await house(t);
  const answer = await (await call(ASK)).json();
  const { detail, text } = await last();
  t.deepEqual(detail.request?.body, ASK);
  t.deepEqual(detail.response?.body, answer);
  t.is(detail.response?.status, 200);
  t.false(text.includes('sk-very-secret'));
  t.false(text.includes(WORKSPACE_KEY));
});

test('a stream is kept as the answer that it would have been', async (t) => {
  const { call, last } = await house(t);
  const events = await (await call({ ...ASK, stream: true })).text();
  const { detail } = await last();
  const { choices } = detail.response!.body as { choices: { message: { content: string } }[] };
  const said = events
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)) as { choices: { delta: { content?: string } }[] })
    .map((event) => event.choices[0]?.delta.content ?? '')
    .join('');
  t.not(said, '');
  t.is(choices[0]?.message.content, said);
});

test('a provider’s error is kept as it was, and as it was told', async (t) => {
  const { call, last, provider } = await house(t);
  provider.next('/v1/chat/completions', (_, res) => {
    res.writeHead(429, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ error: { message: 'slow down', type: 'rate' } }));
  });
  const answer = await call(ASK);
  t.is(answer.status, 429);
  const { detail } = await last();
  t.is(detail.response?.status, 429);
  t.true(JSON.stringify(detail.response?.body).includes('slow down'));
  t.deepEqual(detail.originalResponse?.body, { error: { message: 'slow down', type: 'rate' } });
});

test('a credential that a provider repeats is kept nowhere', async (t) => {
  const { call, last, provider } = await house(t);
  const echo = (_: unknown, res: import('node:http').ServerResponse): void => {
    res.writeHead(401, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ error: { message: 'bad key sk-very-secret-of-the-caller' } }));
  };
  for (const path of ['/chat/completions', '/proxy/chat/completions']) {
    provider.next('/v1/chat/completions', echo);
    await (await call(ASK, {}, path)).text();
    const { text } = await last();
    t.true(text.includes('bad key'), path);
    t.false(text.includes('sk-very-secret'), path);
  }
});

test('what is passed through is kept too', async (t) => {
  const { call, last } = await house(t);
  const answer = await (await call(ASK, {}, '/proxy/v1/chat/completions')).text();
  const { detail } = await last();
  t.deepEqual(detail.request?.body, ASK);
  t.deepEqual(detail.response?.body, JSON.parse(answer));
});

test('x-gateway-debug: false keeps no bodies, nor does a workspace that wants none', async (t) => {
  const { call, last, admin } = await house(t);
  await (await call(ASK, { 'x-gateway-debug': 'false' })).text();
  t.false((await last()).text.includes('what is kept?'));
  const { data } = (await admin('GET', '/admin/workspaces')) as { data: { id: string }[] };
  await admin('PUT', `/admin/workspaces/${data[0]?.id}`, { settings: { debug_log: 0 } });
  await (await call(ASK)).text();
  t.false((await last()).text.includes('what is kept?'));
  await admin('PUT', `/admin/workspaces/${data[0]?.id}`, { settings: { debug_log: 1 } });
  await (await call(ASK)).text();
  t.true((await last()).text.includes('what is kept?'));
});

test('GATEWAY_LOG_BODIES: metadata keeps entries alone, none not even what the caller says of the request', async (t) => {
  const metadata = { 'x-gateway-metadata': '{"team":"blue"}' };
  const some = await house(t, { GATEWAY_LOG_BODIES: 'metadata' });
  await (await some.call(ASK, metadata)).text();
  const kept = await some.last();
  t.false(kept.text.includes('what is kept?'));
  t.deepEqual(kept.entry.metadata, { team: 'blue' });
  const none = await house(t, { GATEWAY_LOG_BODIES: 'none' });
  await (await none.call(ASK, metadata)).text();
  t.is((await none.last()).entry.metadata, undefined);
});

/** What the fake provider says of such a model. */
const WORDS = 'no: status-400';
const REFUSED = { ...ASK, model: 'status-400' };
const KEPT = { reason: 'upstream_status', message: 'status 400, type fake_error, code fake_code' };

/** Every file of a folder. */
function filesIn(folder: string): Buffer[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name)));
}

test('none keeps of providers’ errors status, type and code, wherever an error is written', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-words-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const env = { GATEWAY_LOG_BODIES: 'none', GATEWAY_DATA_DIR: folder, LOG_LEVEL: 'trace' };
  const { call, last, gateway } = await house(t, env);
  const config = { strategy: { mode: 'fallback' }, targets: [{ weight: 1 }, { weight: 1 }] };
  for (const [body, headers, attempts] of [
    [REFUSED, {}, 1],
    [{ ...REFUSED, stream: true }, {}, 1],
    [REFUSED, { 'x-gateway-config': JSON.stringify(config) }, 2],
  ] as const) {
    const answer = await call(body, headers);
    t.is(answer.status, 400);
    // The caller reads the provider's own words.
    t.regex(await answer.text(), /no: status-400/);
    const { entry, text } = await last();
    t.deepEqual((entry as { error?: unknown }).error, KEPT);
    const tried = (entry as { attempts?: { error?: unknown }[] }).attempts ?? [];
    t.deepEqual(
      tried.map(({ error }) => error),
      Array.from({ length: attempts }, () => KEPT),
    );
    t.false(text.includes(WORDS));
  }
  t.deepEqual(
    filesIn(folder).filter((bytes) => bytes.includes(WORDS)),
    [],
  );
  t.false(gateway.logLines.join('').includes(WORDS));
});

test('words of errors are kept where bodies or metadata are, but not of a call or a workspace that wants none', async (t) => {
  const { call, last, admin } = await house(t, { GATEWAY_LOG_BODIES: 'metadata' });
  const error = async (headers = {}): Promise<unknown> => {
    await (await call(REFUSED, headers)).text();
    return ((await last()).entry as { error?: { message?: string } }).error?.message;
  };
  t.is(await error(), `openai error: ${WORDS}`);
  t.is(await error({ 'x-gateway-debug': 'false' }), KEPT.message);
  const { data } = (await admin('GET', '/admin/workspaces')) as { data: { id: string }[] };
  await admin('PUT', `/admin/workspaces/${data[0]?.id}`, { settings: { debug_log: 0 } });
  t.is(await error(), KEPT.message);
});

test('an entry says what the cache did, and what that saved', async (t) => {
  const { call, last } = await house(t);
  const config = { 'x-gateway-config': JSON.stringify({ cache: { mode: 'simple' } }) };
  await (await call(ASK, config)).text();
  t.is((await last()).entry.cache_status, 'MISS');
  await (await call(ASK, config)).text();
  const { entry, detail } = await last();
  t.is(entry.cache_status, 'HIT');
  t.truthy((entry as { saved?: number }).saved);
  t.deepEqual(detail.request?.body, ASK);
  t.truthy(detail.response?.body);
});
