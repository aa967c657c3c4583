// Descriptions of tools that change after they were accepted: marked as soon as a list shows them, held back on list and on
// call where the integration asks for it, and not forgotten when a tool goes and comes back.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type RunningServer, startNewest } from '../support/mcp/servers.ts';
import { modern } from '../support/mcp/wire.ts';

interface Row {
  readonly name: string;
  readonly changed: boolean;
  readonly description: string;
}

const ECHO = { name: 'echo', description: 'Says it again.' };
const OTHER = { name: 'other', description: 'Another.' };
let tools = [ECHO, OTHER];
let upstream: RunningServer;
let gateway: TestGateway;
test.before(async () => {
  upstream = await startNewest(() => ({ tools }));
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  for (const [slug, hold] of [
    ['held', true],
    ['free', false],
  ] as const) {
    await ok(gateway, 'POST', '/mcp-integrations', {
      body: {
        ...{ name: slug, slug, url: upstream.url, auth_type: 'none', transport: 'http' },
        ...{ workspace_id: 'default', configurations: { hold_changed_tools: hold } },
      },
    });
    await ok(gateway, 'POST', '/mcp-servers', {
      body: { name: slug, slug, mcp_integration_id: slug, workspace_id: 'default' },
    });
  }
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});
test.beforeEach(async () => {
  tools = [ECHO, OTHER];
  await sync();
  await accept();
  await becomes('called');
});

const at = (slug: string) => `${gateway.origin}/${slug}/mcp`;
const sync = async (): Promise<void> => {
  for (const slug of ['held', 'free'])
    await ok(gateway, 'POST', `/mcp-integrations/${slug}/sync`, { body: {} });
};
const accept = () =>
  ok(gateway, 'PUT', '/mcp-integrations/held/capabilities', {
    body: { capabilities: [{ name: 'echo', type: 'tool', enabled: true, accept: true }] },
  });
const listed = async (slug: string): Promise<string[]> => {
  const { result } = (await modern(at(slug), 'tools/list')).json;
  return ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
};
/** Once the gateway follows what was accepted or synced. */
const becomes = (what: 'called' | 'Unknown tool: echo') =>
  eventually(what, async () => (await called('held')) === what);
const called = async (slug: string): Promise<string> => {
  const { json } = await modern(at(slug), 'tools/call', { name: 'echo', arguments: {} });
  return json.error?.message ?? 'called';
};
const row = async (slug: string): Promise<Row | undefined> => {
  const { data } = await ok(gateway, 'GET', `/mcp-integrations/${slug}/capabilities`);
  return (data as Row[]).find(({ name }) => name === 'echo');
};
const marked = (slug: string, description: string): Promise<unknown> =>
  eventually('the mark is stored', async () => {
    const now = await row(slug);
    return now?.changed && now.description === description ? now : undefined;
  });

test.serial('a list that shows another description holds the tool back, and marks it', async (t) => {
  tools = [{ ...ECHO, description: 'Sends it elsewhere.' }, OTHER];
  t.deepEqual(await listed('held'), ['other']);
  t.is(await called('held'), 'Unknown tool: echo', 'at once, before any sync');
  await marked('held', 'Sends it elsewhere.');
  t.is(await called('held'), 'Unknown tool: echo');
  await accept();
  await becomes('called');
  t.deepEqual(await listed('held'), ['echo', 'other']);
});

test.serial('without the setting it is marked, and offered', async (t) => {
  tools = [{ ...ECHO, description: 'Says it louder.' }, OTHER];
  t.deepEqual(await listed('free'), ['echo', 'other']);
  await marked('free', 'Says it louder.');
  t.is(await called('free'), 'called');
  const audited = await ok(
    gateway,
    'GET',
    '/audit-logs?resource_type=mcp-integration-capabilities&page_size=100',
  );
  t.regex(JSON.stringify(audited), /describes tools otherwise/);
});

test.serial('a tool that goes and comes back with another description has changed', async (t) => {
  tools = [OTHER];
  await sync();
  await eventually('the tool is gone', async () => (await row('held')) === undefined);
  t.deepEqual(await listed('held'), ['other']);
  tools = [{ ...ECHO, description: 'Came back.' }, OTHER];
  t.deepEqual(await listed('held'), ['other'], 'before a sync');
  t.is(await called('held'), 'Unknown tool: echo');
  await sync();
  t.true((await row('held'))?.changed);
  t.deepEqual(await listed('held'), ['other']);
  await becomes('Unknown tool: echo');
  await accept();
  await becomes('called');
  tools = [OTHER];
  await sync();
  tools = [{ ...ECHO, description: 'Came back.' }, OTHER];
  await sync();
  t.false((await row('held'))?.changed, 'as it was accepted');
  await becomes('called');
});

test.serial('what a caller has told of a server is not replaced by what it lists', async (t) => {
  const told = { name: 'echo', type: 'tool', description: 'As it should be.' };
  await ok(gateway, 'POST', '/mcp-integrations/held/sync', { body: { capabilities: [told] } });
  await accept();
  await eventually('it describes itself otherwise', async () => !(await listed('held')).includes('echo'));
  t.is(await called('held'), 'Unknown tool: echo');
  t.like(await row('held'), { description: 'As it should be.', changed: false });
});
