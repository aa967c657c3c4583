// A user who has no connection to an upstream is asked to open its link, as the client's revision has it: a result
// `input_required`, the error -32042, or an error with the link for clients that open no addresses.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, type TestGateway } from '../support/gateway.ts';
import { type AuthUpstream, startAuthUpstream } from '../support/mcp/auth-upstream.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { type Person, signedIn } from '../support/mcp/oauth-person.ts';
import { MODERN, post } from '../support/mcp/wire.ts';
import { peopleOf, type Person as User } from '../support/people.ts';

type Json = Record<string, unknown>;
const URLS = { elicitation: { url: {} } };
let upstream: AuthUpstream;
let gateway: TestGateway;
let user: User;
let other: User;
let person: Person;
test.before(async () => {
  upstream = await startAuthUpstream();
  gateway = await startMcpGateway({ tools: { url: upstream.url, integration: { authType: 'oauth_auto' } } });
  const people = peopleOf(gateway);
  user = await people.person(gateway.app.tenancy.workspaceId, 'member');
  other = await people.person(gateway.app.tenancy.workspaceId, 'member');
  person = await signedIn(gateway, user.key);
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});
test.beforeEach(() => disconnect());

const CALL = { name: 'test_simple_text', arguments: {} };
const modern = (
  params: Json,
  capabilities: Json,
  key = user.key,
  method = 'tools/call',
  path = '/tools/mcp',
) => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const body = { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } };
  const named = params.name ?? params.uri;
  return post(`${gateway.origin}${path}`, JSON.stringify(body), {
    authorization: `Bearer ${key}`,
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof named === 'string' ? { 'mcp-name': named } : {}),
  });
};
const legacy = (message: Json, headers: Record<string, string> = {}, path = '/tools/mcp') =>
  post(`${gateway.origin}${path}`, JSON.stringify({ jsonrpc: '2.0', ...message }), {
    authorization: `Bearer ${user.key}`,
    ...headers,
  });
const hello = (capabilities: Json, protocolVersion = '2025-11-25') => ({
  id: 1,
  method: 'initialize',
  params: { protocolVersion, capabilities, clientInfo: { name: 'x', version: '1' } },
});

async function connect(): Promise<void> {
  const begun = await person.post(`${gateway.origin}/oauth/connect/tools`, {});
  const cookie = begun.headers.getSetCookie().map((line) => line.split(';')[0]);
  const at = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' });
  const done = await person.open(at.headers.get('location') ?? '', {
    cookie: [person.cookie, ...cookie].join('; '),
  });
  if (done.status !== 200) throw new Error(await done.text());
}

async function disconnect(): Promise<void> {
  await fetch(`${gateway.origin}/v1/mcp-servers/tools/connections`, {
    method: 'DELETE',
    headers: { 'x-gateway-api-key': user.key },
  });
  await eventually('there is no connection', async () => {
    const answer = await modern(CALL, {});
    return answer.json.error?.data?.reason === 'connection_needed';
  });
}

async function admin(method: string, path: string, body: Json): Promise<void> {
  const answer = await fetch(gateway.origin + path, {
    method,
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}

const asked = async (path = '/tools/mcp', name = CALL.name) => {
  const { json, text } = await modern({ ...CALL, name }, URLS, user.key, 'tools/call', path);
  if (json.result?.resultType !== 'input_required') throw new Error(text);
  return json.result as { inputRequests: Record<string, Json>; requestState: string };
};
const answered = (action: string, requestState: string, more: Json = {}) => ({
  ...CALL,
  requestState,
  inputResponses: { connect: { action } },
  ...more,
});

test.serial(
  'a client of 2026-07-28 that opens addresses is asked by its result, and then has its call',
  async (t) => {
    const { inputRequests, requestState } = await asked();
    t.like(inputRequests.connect, {
      method: 'elicitation/create',
      params: { mode: 'url', url: `${gateway.origin}/oauth/connect/tools` },
    });
    t.notRegex(requestState, /tools/);
    const waiting = modern(answered('accept', requestState), URLS);
    await connect();
    const { json, text } = await waiting;
    t.is(json.result?.resultType, 'complete', text);
    t.is(json.id, 7);
    const sent = upstream.tools.seen.map(({ body }) => body).filter((body) => body.includes('"tools/call"'));
    t.false(sent.some((body) => body.includes('sluice-connect') || body.includes('inputResponses')));
  },
);

test.serial(
  'the official client opens the link by its own handler, at a server and at all of them',
  async (t) => {
    for (const [path, name] of [
      ['/tools/mcp', 'test_simple_text'],
      ['/mcp', 'tools__test_simple_text'],
    ] as const) {
      await disconnect();
      const client = new Client(
        { name: 'newer', version: '1' },
        { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: { pin: MODERN } } },
      );
      const opened: string[] = [];
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        opened.push(String((params as { url?: string }).url));
        await connect();
        return { action: 'accept' };
      });
      const transport = new StreamableHTTPClientTransport(new URL(`${gateway.origin}${path}`), {
        requestInit: { headers: { authorization: `Bearer ${user.key}` } },
      });
      await client.connect(transport);
      const result = await client.callTool({ name, arguments: {} });
      t.regex(JSON.stringify(result.content), /simple text response/);
      t.deepEqual(opened, [`${gateway.origin}/oauth/connect/tools`]);
      await client.close();
    }
  },
);

test.serial('what was allowed before the wait for a connection is asked again after it', async (t) => {
  const body = {
    name: 'short-lived',
    user_id: user.id,
    workspace_id: 'default',
    scopes: ['mcp.invoke'],
  };
  const { id, key } = await ok(gateway, 'POST', '/api-keys/workspace/user', { body });
  const question = await modern(CALL, URLS, String(key));
  const { requestState } = question.json.result as { requestState: string };
  const waiting = modern(answered('accept', requestState), URLS, String(key));
  await ok(gateway, 'DELETE', `/api-keys/${id}`);
  await connect();
  const revoked = await waiting;
  t.regex(revoked.text, /unauthenticated/);
  await disconnect();
  const hidden = await asked();
  const later = modern(answered('accept', hidden.requestState), URLS);
  const put = (enabled: boolean) =>
    admin('PUT', '/v1/mcp-servers/tools/capabilities', {
      capabilities: [{ name: CALL.name, type: 'tool', enabled }],
    });
  await put(false);
  await connect();
  t.regex(String((await later).json.error?.message), /Unknown tool/);
  await put(true);
});

test.serial('a user who declines has an error with the link', async (t) => {
  for (const action of ['decline', 'cancel']) {
    const { requestState } = await asked();
    const { json, status } = await modern(answered(action, requestState), URLS);
    t.is(status, 200);
    t.is(json.error?.code, -32000);
    t.like(json.error?.data, { reason: 'connection_needed', server: 'tools' });
  }
});

test.serial('an answer that is none is asked again', async (t) => {
  const { requestState } = await asked();
  for (const inputResponses of [undefined, {}, { connect: 1 }, { other: { action: 'accept' } }]) {
    const { json, text } = await modern({ ...CALL, requestState, inputResponses }, URLS);
    t.is(json.result?.resultType, 'input_required', text);
  }
});

test.serial('what was asked of one caller and one call opens for no other', async (t) => {
  const { requestState } = await asked();
  const wrong: [Json, string?][] = [
    [answered('accept', `${requestState}x`)],
    [answered('accept', `${requestState.slice(0, -2)}AA`)],
    [answered('accept', 'sluice-connect.')],
    [answered('accept', requestState, { name: 'test_image_content' })],
    [answered('accept', requestState), other.key],
  ];
  for (const [params, key] of wrong) {
    const { json, text } = await modern(params, URLS, key);
    t.is(json.error?.code, -32602, text);
  }
});

test.serial('what a client brings back for the server itself is not lost to the question', async (t) => {
  const own = { requestState: 'of the server', inputResponses: { q1: { action: 'accept' } } };
  const { json } = await modern({ ...CALL, ...own }, URLS);
  const { requestState } = json.result as { requestState: string };
  const waiting = modern(answered('accept', requestState), URLS);
  await connect();
  // The server's own state is looked at again: it is one that was never given out.
  t.regex((await waiting).json.error?.message ?? '', /requestState is not known/);
});

test.serial('clients that do not open addresses, and lists, have an error with the link', async (t) => {
  for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }]) {
    const { json } = await modern(CALL, capabilities);
    t.is(json.error?.code, -32000);
    t.regex(String(json.error?.message), /oauth\/connect\/tools/);
  }
  // Nothing is known of the server before its first sync.
  const list = await modern({}, URLS, user.key, 'tools/list');
  t.is(list.json.error?.code, -32000);
});

test.serial(
  'what the last sync saw is listed before the user has connected, without what is hidden',
  async (t) => {
    const own = `/v1/mcp-integrations/upstream-tools/sync`;
    const inputSchema = { type: 'object' };
    const capabilities = ['shown', 'hidden'].map((name) => ({ type: 'tool', name, inputSchema }));
    await admin('POST', own, { server_info: { name: 'Tools', version: '2' }, capabilities });
    await admin('PUT', '/v1/mcp-servers/tools/capabilities', {
      capabilities: [{ name: 'hidden', type: 'tool', enabled: false }],
    });
    const names = ({ json }: Awaited<ReturnType<typeof modern>>) =>
      (json.result?.tools as { name: string }[] | undefined)?.map(({ name }) => name);
    await eventually('the list is known', async () => {
      const shown = names(await modern({}, URLS, user.key, 'tools/list'));
      return JSON.stringify(shown) === '["shown"]';
    });
    t.deepEqual(names(await modern({}, URLS, user.key, 'tools/list', '/mcp')), ['tools__shown']);
    const discovered = await modern({}, URLS, user.key, 'server/discover');
    t.like(discovered.json.result, { resultType: 'complete', cacheScope: 'private' });
    const hidden = await modern({ name: 'hidden', arguments: {} }, URLS);
    t.regex(String(hidden.json.error?.message), /Unknown tool/);
  },
);

test.serial(
  'clients of 2025-11-25 are asked by -32042 where they declare it, in the handshake and in a session',
  async (t) => {
    t.is((await legacy(hello(URLS))).json.error?.code, -32042);
    t.is((await legacy(hello({ elicitation: {} }))).json.error?.code, -32000);
    t.is((await legacy(hello(URLS, '2025-06-18'))).json.error?.code, -32000);
    for (const [capabilities, path, name, code] of [
      [URLS, '/tools/mcp', CALL.name, -32042],
      [{ elicitation: {} }, '/tools/mcp', CALL.name, -32000],
      [URLS, '/mcp', `tools__${CALL.name}`, -32042],
      [{}, '/mcp', `tools__${CALL.name}`, -32000],
    ] as const) {
      await connect();
      const opened = await legacy(hello(capabilities), {}, path);
      const headers = {
        'mcp-session-id': opened.headers.get('mcp-session-id') ?? '',
        'mcp-protocol-version': '2025-11-25',
      };
      await disconnect();
      const call = { id: 2, method: 'tools/call', params: { ...CALL, name } };
      const { json, text } = await legacy(call, headers, path);
      t.is(json.error?.code, code, text);
      t.regex(String(json.error?.message), /oauth\/connect\/tools/);
      if (code === -32042)
        t.like((json.error?.data as { elicitations: Json[] } | undefined)?.elicitations[0], { mode: 'url' });
    }
  },
);
