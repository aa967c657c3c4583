// Every page in a browser: for people who see or steer otherwise, in its empty state, and by the keyboard alone.
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { type Json, ok } from '../support/front-door.ts';
import { ADMIN_KEY, type TestGateway } from '../support/gateway.ts';
import { bench, check, inBrowser } from './bench.ts';
import { signIn } from './browser.ts';

const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 390 },
] as const;

/** Pages that are empty at first, and how each says what to begin with. */
const EMPTY: readonly (readonly [page: string, words: RegExp])[] = [
  ['logs', /Open the playground/],
  ['analytics', /make one in the playground/],
  ['configs', /Write the first one/],
  ['prompts', /Write the first one/],
  ['providers', /New provider stores the first one/],
  ['guardrails', /New guardrail makes the first one/],
  ['budgets', /make a key/],
  ['policies', /New usage policy makes the first one/],
  ['people', /Invite makes a link/],
];

inBrowser((opened) => {
  test.serial('nothing serious on the pages of the navigation: light, dark, and 390 px wide', async (t) => {
    t.timeout(290_000);
    const { gateway, page, call } = await bench(t, opened());
    await call('gpt-ok', 'hello');
    await saved(gateway);
    await page.goto(`${gateway.origin}/console`);
    await check(t, page, 'sign-in');
    await signIn(page, ADMIN_KEY);
    const nav = page.getByRole('navigation', { name: 'Main' });
    const listed = await nav
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
    t.true(listed.length >= 13, `${listed}`);
    for (const path of listed) await looked(t, page, `${gateway.origin}${path}`);
  });

  test.serial('nothing serious on the pages that these lead to, and in their dialogs', async (t) => {
    t.timeout(290_000);
    const { gateway, page, call } = await bench(t, opened());
    const { headers } = await call('gpt-ok', 'hello');
    const { config, prompt } = await saved(gateway);
    await page.goto(`${gateway.origin}/console`);
    await signIn(page, ADMIN_KEY);
    const paths = [
      `logs/${headers.get('x-gateway-request-id')}`,
      'logs?status=418',
      'configs/new',
      `configs/${config}`,
      'prompts/new',
      `prompts/${prompt}`,
      'playground?side_by_side=1',
      'analytics?compare=1&by=metadata&month=current',
      'nothing',
      'invite',
    ];
    for (const path of paths) await looked(t, page, `${gateway.origin}/console/${path}`);
    const dialogs = [
      ['keys', 'New key'],
      ['providers', 'New provider'],
      ['guardrails', 'New guardrail'],
      ['policies', 'New usage policy'],
      ['people', 'Invite'],
    ] as const;
    for (const [path, button] of dialogs) {
      await page.goto(`${gateway.origin}/console/${path}`);
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('dialog', { name: button }).getByRole('textbox').first().waitFor();
      await check(t, page, `${path}: ${button}`);
    }
  });

  test.serial(
    'empty pages say what they are for and how to begin; the first call is made from there',
    async (t) => {
      t.timeout(170_000);
      const { gateway, provider, page, faults } = await bench(t, opened());
      await page.goto(`${gateway.origin}/console/logs`);
      await signIn(page, ADMIN_KEY);
      for (const [path, words] of EMPTY) {
        await page.goto(`${gateway.origin}/console/${path}`);
        await page.getByRole('main').getByText(words).first().waitFor();
      }
      await page.goto(`${gateway.origin}/console/logs`);
      const first = page.getByRole('region', { name: 'First call' });
      for (const name of ['curl', 'openai', 'grpcurl'])
        await first.getByRole('button', { name: `Copy ${name}`, exact: true }).waitFor();
      await first.getByRole('link', { name: 'Open the playground' }).click();
      await page.getByLabel('Provider', { exact: true }).fill('openai');
      await page.getByLabel('Provider API key').fill('sk-provider');
      await page.getByLabel('Base URL').fill(`${provider.origin}/v1`);
      await page.getByLabel('Model').fill('gpt-ok');
      await page.getByLabel('Message').fill('hello');
      await page.getByRole('button', { name: 'Send' }).click();
      const answer = page.getByRole('region', { name: 'Answer' });
      await answer.getByText('Hello').waitFor();
      await answer.getByRole('link', { name: 'Its entry in the log' }).click();
      await page.getByRole('region', { name: 'Request' }).getByText('hello').waitFor();
      for (const name of ['Response', 'Attempts']) await page.getByRole('region', { name }).waitFor();
      t.deepEqual(faults, []);
    },
  );

  test.serial('the keyboard reaches everything: the skip link first, rows, and pages by name', async (t) => {
    t.timeout(170_000);
    const { gateway, page, faults, call } = await bench(t, opened());
    for (let i = 0; i < 3; i++) await call('gpt-ok', `call ${i}`);
    await page.goto(`${gateway.origin}/console/logs`);
    await signIn(page, ADMIN_KEY);
    await page.goto(`${gateway.origin}/console/logs`);
    await page.getByRole('table', { name: 'Logs' }).waitFor();
    await page.keyboard.press('Tab');
    t.is(await page.evaluate('document.activeElement?.textContent?.trim()'), 'Skip to content');
    await page.keyboard.press('Enter');
    t.is(await page.evaluate('document.activeElement?.id'), 'main');
    await page.keyboard.press('j');
    await page.locator('tr[data-row="0"] a:focus').waitFor();
    await page.keyboard.press('j');
    await page.locator('tr[data-row="1"] a:focus').waitFor();
    await page.keyboard.press('k');
    await page.locator('tr[data-row="0"] a:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Request' }).waitFor();
    await page.keyboard.press('Control+k');
    const combobox = page.getByRole('combobox', { name: 'Go to' });
    await combobox.fill('guar');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console\/guardrails$/);
    await page.getByRole('button', { name: 'New guardrail' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'New guardrail' });
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    t.is(await page.evaluate('document.activeElement?.textContent'), 'New guardrail');
    t.deepEqual(faults, []);
  });

  test.serial(
    "a workspace's key sees and steers its own workspace on every page that it is shown",
    async (t) => {
      t.timeout(170_000);
      const { gateway, page, faults, call } = await bench(t, opened());
      await call('gpt-ok', 'hello');
      await saved(gateway);
      await page.goto(`${gateway.origin}/console`);
      const verbs = ['list', 'read', 'create', 'update', 'delete'];
      const kinds = ['configs', 'prompts', 'providers', 'virtual_keys', 'guardrails', 'policies'];
      const key = await ok(gateway, 'POST', '/api-keys/workspace/service', {
        body: {
          name: 'Steers',
          workspace_id: 'default',
          scopes: [
            ...['logs.list', 'logs.view', 'analytics.view', 'completions.write', 'workspace_users.list'],
            ...[...kinds, 'workspace_service_api_keys'].flatMap((of) => verbs.map((verb) => `${of}.${verb}`)),
          ],
        },
      });
      await signIn(page, String(key.key));
      const nav = page.getByRole('navigation', { name: 'Main' });
      const listed = await nav
        .getByRole('link')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      t.true(listed.length >= 12, `${listed}`);
      for (const path of listed) {
        await page.goto(`${gateway.origin}${path}`);
        await settled(page);
        t.deepEqual(await page.getByRole('alert').allInnerTexts(), [], `${path}`);
      }
      t.deepEqual(faults, []);
    },
  );
});

/** One of each that pages show. */
async function saved(gateway: TestGateway): Promise<{ readonly config: string; readonly prompt: string }> {
  const workspace = { workspace_id: 'default' };
  const post = (path: string, body: Json): Promise<Json> =>
    ok(gateway, 'POST', path, { body: { ...workspace, ...body } });
  const { slug } = await post('/configs', { name: 'Routes', config: { provider: 'openai' } });
  await ok(gateway, 'PUT', `/configs/${slug}`, { body: { config: { provider: 'groq' } } });
  const prompt = await post('/prompts', { name: 'Greeting', string: 'Hello {{who}}', parameters: {} });
  await post('/virtual-keys', { name: 'Stored', provider: 'openai', key: 'sk-0123456789' });
  const checks = [{ id: 'default.contains', parameters: { operator: 'none', words: ['secret'] } }];
  await post('/guardrails', { name: 'No secrets', checks, actions: { deny: true } });
  await ok(gateway, 'POST', '/admin/users/invites', { body: { email: 'a@b.test', role: 'member' } });
  return { config: String(slug), prompt: String(prompt.slug) };
}

async function looked(t: ExecutionContext, page: Page, address: string): Promise<void> {
  await page.goto(address);
  await settled(page);
  for (const { colorScheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    // Other colours change contrasts alone.
    await check(
      t,
      page,
      `${address} ${colorScheme} ${width}`,
      colorScheme === 'dark' ? ['color-contrast'] : [],
    );
  }
}

/** What the page loads is there. */
async function settled(page: Page): Promise<void> {
  await page.locator('h1, .empty').first().waitFor();
  await eventually(
    'the page',
    async () => !/Loading…|Comparing…/.test(await page.locator('body').innerText()),
  );
}
