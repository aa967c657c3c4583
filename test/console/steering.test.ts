// What people steer in a browser: keys, providers, guardrails, policies, people.
import { readFile } from 'node:fs/promises';
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok, send } from '../support/front-door.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { bench, inBrowser } from './bench.ts';
import { signIn } from './browser.ts';

inBrowser((opened) => {
  test.serial(
    'keys are made with a budget, rotated and revoked; providers are stored and tested',
    async (t) => {
      t.timeout(170_000);
      const { gateway, provider, page, faults, call } = await bench(t, opened());
      await page.goto(`${gateway.origin}/console/keys`);
      await signIn(page, ADMIN_KEY);
      await page.getByRole('button', { name: 'New key' }).click();
      const made = page.getByRole('dialog', { name: 'New key' });
      await made.getByLabel('Name').fill('Turned');
      await made.getByLabel('Expires').selectOption('30');
      await made.getByLabel('Budget in dollars').fill('5');
      await made.getByRole('button', { name: 'Create' }).click();
      const first = await made.getByLabel('Secret').inputValue();
      await eventually('a key that works', async () => (await call('gpt-ok', 'hi', first)).status === 200);
      await made.getByRole('button', { name: 'Close' }).click();
      await page.getByLabel('Secret').waitFor({ state: 'detached' });
      const { data } = (await ok(gateway, 'GET', '/api-keys')) as { data: Record<string, unknown>[] };
      const key = data.find(({ name }) => name === 'Turned');
      t.like(key, { usage_limits: { credit_limit: 5 } });
      t.truthy(key?.expires_at);

      await page.getByRole('button', { name: 'Rotate Turned' }).click();
      const rotate = page.getByRole('dialog', { name: 'Rotate' });
      await rotate.getByRole('button', { name: 'Rotate' }).click();
      const second = await rotate.getByLabel('Secret', { exact: true }).inputValue();
      t.not(second, first);
      // Changes count within a second.
      for (const one of [first, second])
        await eventually('a secret that works', async () => (await call('gpt-ok', 'hi', one)).status === 200);
      await rotate.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: 'Revoke Turned' }).click();
      await page.getByRole('dialog', { name: 'Revoke' }).getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('button', { name: 'Revoke Turned' }).waitFor({ state: 'detached' });
      t.is((await send(gateway, 'GET', `/api-keys/${key?.id}`)).status, 404);

      await page.goto(`${gateway.origin}/console/providers`);
      await page.getByText('A stored provider keeps a credential').waitFor();
      await page.getByRole('button', { name: 'New provider' }).click();
      const stored = page.getByRole('dialog', { name: 'New provider' });
      await stored.getByLabel('Name').fill('Mine');
      await stored.getByLabel('Service').selectOption('openai');
      await stored.getByLabel('Provider API key').fill('sk-0123456789');
      await stored.getByLabel('Slug').fill('mine');
      await stored.getByLabel('Base URL').fill(`${provider.origin}/v1`);
      await stored.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('button', { name: 'Test Mine' }).click();
      await page.getByText(/works: \d+ models/).waitFor();
      await ok(gateway, 'POST', '/configs', {
        body: {
          name: 'Guarded',
          config: { provider: '@mine', cb_config: { failure_threshold: 3 } },
          workspace_id: 'default',
        },
      });
      await page.getByRole('button', { name: 'Read circuits' }).click();
      await page.getByRole('table', { name: 'Circuits' }).getByText('closed').waitFor();
      await page.getByRole('button', { name: 'New credential of Mine' }).click();
      const renewed = page.getByRole('dialog', { name: 'New credential' });
      await renewed.getByLabel('Provider API key').fill('sk-9876543210');
      await renewed.getByRole('button', { name: 'Save' }).click();
      await renewed.waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: 'Test Mine' }).click();
      await page.getByText(/works: \d+ models/).waitFor();
      t.is(provider.seen.at(-1)?.headers.authorization, 'Bearer sk-9876543210');
      await page.getByRole('button', { name: 'Delete Mine' }).click();
      await page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' }).click();
      await page.getByText('A stored provider keeps a credential').waitFor();
      t.deepEqual(faults, []);
    },
  );

  test.serial('guardrails and policies are made, changed and deleted', async (t) => {
    t.timeout(170_000);
    const { gateway, page, faults, call } = await bench(t, opened());
    await page.goto(`${gateway.origin}/console/guardrails`);
    await signIn(page, ADMIN_KEY);
    await page.getByText('A guardrail checks what is asked').waitFor();
    await page.getByRole('button', { name: 'New guardrail' }).click();
    const made = page.getByRole('dialog', { name: 'New guardrail' });
    await made.getByLabel('Name').fill('No secrets');
    await made.getByLabel('Checks').fill('[{"id": "default.nothing"}]');
    await made.getByRole('button', { name: 'Create' }).click();
    t.regex(await made.getByRole('alert').innerText(), /checks\[0\]|default\.nothing/);
    const check = { id: 'default.contains', parameters: { operator: 'none', words: ['secret'] } };
    await made.getByLabel('Checks').fill(JSON.stringify([check]));
    await made.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Edit No secrets' }).click();
    const edited = page.getByRole('dialog', { name: 'Edit' });
    const other = { ...check, parameters: { ...check.parameters, words: ['hidden'] } };
    await edited.getByLabel('Checks').fill(JSON.stringify([other]));
    await edited.getByRole('button', { name: 'Save' }).click();
    await edited.waitFor({ state: 'hidden' });
    await page.getByLabel('Text', { exact: true }).fill('something hidden');
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByText('deny', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete No secrets' }).click();
    await page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('A guardrail checks what is asked').waitFor();

    await page.goto(`${gateway.origin}/console/policies`);
    await page.getByText('A usage policy gives each group').waitFor();
    await page.getByRole('button', { name: 'New usage policy' }).click();
    const usage = page.getByRole('dialog', { name: 'New usage policy' });
    await usage.getByLabel('Name').fill('Each key');
    await usage.getByLabel('Of', { exact: true }).selectOption('requests');
    await usage.getByLabel('Limit').fill('1');
    await usage.getByRole('button', { name: 'Create' }).click();
    const policies = page.getByRole('table', { name: 'Usage policies' });
    await policies.getByText('1 requests').waitFor();
    t.is((await call('gpt-ok', 'one')).status, 200);
    await eventually('a budget that is spent', async () => (await call('gpt-ok', 'two')).status !== 200);
    await page.getByRole('button', { name: 'Groups of Each key' }).click();
    const groups = page.getByRole('dialog', { name: 'Groups' });
    await groups.getByRole('button', { name: /^Reset / }).click();
    await groups.getByRole('cell', { name: '0', exact: true }).waitFor();
    await groups.getByRole('button', { name: 'Close' }).click();
    await eventually('a budget of its own again', async () => (await call('gpt-ok', 'three')).status === 200);
    await page.getByRole('button', { name: 'Change Each key' }).click();
    const change = page.getByRole('dialog', { name: 'Change' });
    await change.getByLabel('Limit').fill('1000');
    await change.getByRole('button', { name: 'Save' }).click();
    await policies.getByText('1000 requests').waitFor();

    await page.getByRole('button', { name: 'New rate policy' }).click();
    const rate = page.getByRole('dialog', { name: 'New rate policy' });
    await rate.getByLabel('Name').fill('Slow');
    await rate.getByLabel('Limit').fill('60');
    await rate.getByLabel('Each', { exact: true }).selectOption('metadata');
    await rate.getByRole('button', { name: 'Create' }).click();
    await rate.getByRole('alert').getByText('name its member').waitFor();
    await rate.getByLabel('Metadata of each').fill('team');
    await rate.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('table', { name: 'Rate policies' }).getByText('metadata.team').waitFor();
    await page.getByRole('button', { name: 'Delete Slow' }).click();
    await page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('A rate policy bounds').waitFor();
    t.deepEqual(faults, []);
  });

  test.serial('people are invited, join workspaces, change roles and leave', async (t) => {
    t.timeout(170_000);
    const { gateway, page, faults } = await bench(t, opened());
    await page.goto(`${gateway.origin}/console/people`);
    await signIn(page, ADMIN_KEY);
    await page.getByRole('button', { name: 'Invite' }).click();
    const invite = page.getByRole('dialog', { name: 'Invite' });
    await invite.getByLabel('Email').fill('ada@console.test');
    await invite.getByRole('button', { name: 'Create' }).click();
    const link = new URL(await invite.getByLabel('Link').inputValue());
    await invite.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('table', { name: 'Invitations' }).getByText('pending').waitFor();
    // Who follows the link gets a key, and is in the console.
    const own = await opened().newContext();
    t.teardown(() => own.close());
    const theirs = await own.newPage();
    await theirs.goto(link.href);
    await theirs.getByLabel('First name').fill('Ada');
    await theirs.getByRole('button', { name: 'Accept' }).click();
    await theirs.getByLabel('Secret').waitFor();
    await theirs.getByRole('button', { name: 'Go to the console' }).click();
    await theirs.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Logs' }).waitFor();
    await page.reload();
    await page.getByRole('table', { name: 'People' }).getByText('ada@console.test').waitFor();
    const members = page.getByRole('table', { name: 'Members' });
    await members.getByText('ada@console.test').waitFor();

    await page.getByRole('button', { name: 'Workspace role of ada@console.test' }).click();
    const role = page.getByRole('dialog', { name: 'Role' });
    await role.getByLabel('Role').selectOption('manager');
    await role.getByRole('button', { name: 'Save' }).click();
    await members.getByText('manager').waitFor();

    await page.getByRole('button', { name: 'New workspace' }).click();
    const space = page.getByRole('dialog', { name: 'New workspace' });
    await space.getByLabel('Name').fill('Research');
    await space.getByRole('button', { name: 'Create' }).click();
    await page.getByText('No person is in this workspace yet').waitFor();
    t.true(new URL(page.url()).searchParams.has('workspace'));
    await page.getByRole('button', { name: 'Add member' }).click();
    const add = page.getByRole('dialog', { name: 'Add member' });
    await add.getByRole('button', { name: 'Add' }).click();
    await members.getByText('ada@console.test').waitFor();
    await page.getByRole('button', { name: 'Remove ada@console.test from the workspace' }).click();
    await page.getByRole('dialog', { name: 'Remove' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No person is in this workspace yet').waitFor();

    await page.getByRole('button', { name: 'Role of ada@console.test', exact: true }).click();
    await role.getByLabel('Role').selectOption('admin');
    await role.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('table', { name: 'People' })
      .getByRole('cell', { name: 'admin', exact: true })
      .waitFor();
    await page.getByRole('button', { name: 'Remove ada@console.test', exact: true }).click();
    await page.getByRole('dialog', { name: 'Remove' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByText('They join by invitation').waitFor();
    t.deepEqual(faults, []);
  });

  test.serial('the audit log is verified and loaded, settings tell the state and end sessions', async (t) => {
    t.timeout(170_000);
    const { gateway, page, faults } = await bench(t, opened());
    await ok(gateway, 'POST', '/sessions');
    await page.goto(`${gateway.origin}/console/audit`);
    await signIn(page, ADMIN_KEY);
    await page.getByRole('table', { name: 'Audit log' }).waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    const status = page.getByRole('status').getByText(/^intact, \d+ entries$/);
    await status.waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export' }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
    t.true(lines.length > 0);
    t.notThrows(() => lines.map((line) => JSON.parse(line)));

    await page.goto(`${gateway.origin}/console/settings`);
    const state = page.getByRole('region', { name: 'Gateway' });
    await state.getByText(/^Sluice .* on Node\.js/).waitFor();
    await state.getByRole('table', { name: 'Stores' }).getByText('ready').first().waitFor();
    const sessions = page.getByRole('table', { name: 'Sessions' });
    await sessions.getByRole('button', { name: 'End', exact: true }).click();
    await sessions.getByRole('button', { name: 'End', exact: true }).waitFor({ state: 'detached' });
    await sessions.getByRole('button', { name: 'End this one' }).click();
    await page.getByLabel('API key').waitFor();
    t.deepEqual(faults, []);
  });
});
