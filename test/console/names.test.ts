// What people and programs find pages by: roles and names, with an admin key, with a key of a workspace, and as a person.
import test, { type ExecutionContext } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { invitation, type Json, ok } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { CLIENT, startIdentityProvider } from '../support/identity-provider.ts';
import { bench, inBrowser } from './bench.ts';

const FILTERED = '/console/logs?status=429&model=m&q=text';
const PERSON = [
  'logs.list',
  'logs.view',
  'completions.write',
  'analytics.view',
  'configs.list',
  'configs.create',
];

inBrowser((opened) => {
  test.serial('an admin key: every page has its names, also while there is nothing to show', async (t) => {
    t.timeout(170_000);
    const { gateway, page, faults, call } = await bench(t, opened());
    await enters(t, page, gateway, ADMIN_KEY);
    const nav = page.getByRole('navigation', { name: 'Main' });
    const shown = await nav.getByRole('link').allInnerTexts();
    for (const name of ['Logs', 'Analytics', 'Playground', 'Configs', 'Keys', 'Budgets', 'Audit'])
      t.true(shown.includes(name), name);
    await one(t, page.getByRole('table', { name: 'Logs', exact: true }));
    for (const name of ['Status', 'Model', 'Search']) await one(t, page.getByLabel(name, { exact: true }));
    await page.goto(`${gateway.origin}/console/logs`);
    await one(t, page.getByRole('region', { name: 'First call', exact: true }));
    await page.goto(`${gateway.origin}/console/budgets`);
    const budgets = page.getByRole('table', { name: 'Budgets', exact: true });
    for (const name of ['Spent', 'Held', 'Free'])
      await one(t, budgets.getByRole('columnheader', { name, exact: true }));

    await hasPlayground(t, page, gateway);
    const { headers } = await call('gpt-ok', 'hello');
    await page.goto(`${gateway.origin}/console/logs/${headers.get('x-gateway-request-id')}`);
    for (const name of ['Request', 'Response', 'Attempts'])
      await one(t, page.getByRole('region', { name, exact: true }));
    await page.goto(`${gateway.origin}/console/analytics?from=1h`);
    for (const name of ['Requests', 'Cost', 'Latency', 'Tokens', 'Errors'])
      await one(
        t,
        page.getByRole('figure', { name, exact: true }).getByRole('button', { name: 'Table', exact: true }),
      );
    for (const path of ['configs/new', `configs/${await config(gateway)}`]) {
      await page.goto(`${gateway.origin}/console/${path}`);
      await one(t, page.getByRole('textbox', { name: 'Name', exact: true }));
      await one(t, page.getByRole('textbox', { name: 'Config', exact: true }));
      await one(t, page.getByRole('button', { name: 'Save', exact: true }));
    }
    await page.goto(`${gateway.origin}/console/keys`);
    await page.getByRole('button', { name: 'New key', exact: true }).click();
    const dialog = page.getByRole('dialog');
    t.not(await dialog.getByLabel('Workspace', { exact: true }).inputValue(), '');
    await dialog.getByLabel('Name', { exact: true }).fill('Named');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    t.regex(await page.getByLabel('Secret', { exact: true }).inputValue(), /^slk_/);
    t.deepEqual(faults, []);
  });

  test.serial('a key of a workspace, and a person: their own pages and no others', async (t) => {
    t.timeout(170_000);
    const { gateway, page, faults } = await bench(t, opened());
    const nav = page.getByRole('navigation', { name: 'Main' });
    await enters(t, page, gateway, WORKSPACE_KEY);
    t.deepEqual(await nav.getByRole('link').allInnerTexts(), ['Playground', 'Settings']);
    await hasPlayground(t, page, gateway);
    for (const path of ['logs', 'analytics', 'configs/new', 'keys', 'budgets', 'audit']) {
      await page.goto(`${gateway.origin}/console/${path}`);
      await page.getByText('There is no such page, or not for this key.').waitFor();
    }
    await page.setViewportSize({ width: 390, height: 844 });
    await leaves(page);
    await enters(t, page, gateway, await personKey(gateway));
    await one(t, page.getByRole('table', { name: 'Logs', exact: true }));
    const shown = await nav.getByRole('link').allInnerTexts();
    for (const name of ['Logs', 'Analytics', 'Playground', 'Configs']) t.true(shown.includes(name), name);
    for (const name of ['Keys', 'Audit', 'People']) t.false(shown.includes(name), name);
    await leaves(page);
    t.deepEqual(faults, []);
  });

  test.serial('a person of an identity provider comes back to the page, and signs out of both', async (t) => {
    t.timeout(170_000);
    const provider = await startIdentityProvider();
    t.teardown(() => provider.close());
    const gateway = await startGateway({
      GATEWAY_OIDC_ISSUER: provider.issuer,
      GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
      GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
      GATEWAY_OIDC_ACCOUNTS: 'first_sight',
    });
    t.teardown(() => gateway.close());
    provider.serve(`${gateway.origin}/console/callback`);
    provider.accounts.set('ada', { email: 'ada@names.test', email_verified: true });
    const context = await opened().newContext();
    t.teardown(() => context.close());
    // The provider's own pages ask for a font of a stranger.
    await context.route(/^(?!http:\/\/127\.0\.0\.1:)/, (route) => route.abort());
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(gateway.origin + FILTERED);
    const button = page.getByRole('link', { name: 'Continue with single sign-on' });
    await button.click();
    await page.locator('input[name="login"]').fill('ada');
    await page.locator('input[name="password"]').fill('x');
    await page.locator('button[type="submit"]').click();
    await page.locator('button[type="submit"]').click();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    t.is(page.url(), gateway.origin + FILTERED);
    await page.getByText('You are signed in, and in no workspace yet').waitFor();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.locator('button[value="yes"]').click();
    await page.waitForURL(`${gateway.origin}/console`);
    await button.click();
    await page.locator('input[name="login"]').waitFor();
  });
});

/** Signs in where a link led. */
async function enters(t: ExecutionContext, page: Page, { origin }: TestGateway, key: string): Promise<void> {
  await page.goto(origin + FILTERED);
  await page.getByRole('textbox', { name: 'API key', exact: true }).fill(key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  t.is(page.url(), origin + FILTERED);
  await one(t, page.getByRole('button', { name: 'Sign out', exact: true }));
}

async function leaves(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByLabel('API key', { exact: true }).waitFor();
}

/** There is one, and no more. */
async function one(t: ExecutionContext, found: Locator): Promise<void> {
  await found.first().waitFor();
  t.is(await found.count(), 1, `${found}`);
}

async function hasPlayground(t: ExecutionContext, page: Page, { origin }: TestGateway): Promise<void> {
  await page.goto(`${origin}/console/playground`);
  for (const name of ['Provider', 'Provider API key', 'Base URL', 'Model', 'Message'])
    await one(t, page.getByLabel(name, { exact: true }));
  for (const name of ['Send', 'Stop']) await one(t, page.getByRole('button', { name, exact: true }));
  await one(t, page.getByRole('region', { name: 'Answer', exact: true }));
}

async function config(gateway: TestGateway): Promise<unknown> {
  const body = { name: 'Routes', workspace_id: 'default', config: { provider: 'openai' } };
  return (await ok(gateway, 'POST', '/configs', { body })).slug;
}

/** The key of a person who was invited. */
async function personKey(gateway: TestGateway): Promise<string> {
  const { invite_link: link } = await ok(gateway, 'POST', '/admin/users/invites', {
    body: {
      email: 'ada@names.test',
      role: 'member',
      workspaces: [{ id: 'default', role: 'member' }],
      workspace_api_key_details: { scopes: PERSON },
    },
  });
  const { path, token } = invitation(link);
  const accepted = await ok(gateway, 'POST', `${path}/accept`, { body: { token } });
  return String((accepted.api_keys as Json[])[0]?.key);
}
