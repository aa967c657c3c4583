// The console in a browser: what people see and do, by role and name, light and dark, wide and narrow.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway } from '../support/gateway.ts';
import { startMailServer } from '../support/mail-server.ts';
import { bench, inBrowser } from './bench.ts';
import { signIn } from './browser.ts';

/** As a caller may write it: markup, a right-to-left override, and more than a row takes. */
const HOSTILE = `<img src=x onerror="document.title='broken'">\u202e${'x'.repeat(20_000)}`;

inBrowser((opened) => {
  test.serial(
    'people sign in where a link led, see calls as they are made, and what was said in them',
    async (t) => {
      t.timeout(170_000);
      const { gateway, page, faults, requests, call } = await bench(t, opened());
      await page.goto(`${gateway.origin}/console/logs?status=429`);
      await page.getByLabel('API key').fill('slk_wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      t.regex(await page.getByRole('alert').innerText(), /not known/);
      await signIn(page, ADMIN_KEY);
      t.is(page.url(), `${gateway.origin}/console/logs?status=429`);
      t.is(await page.getByLabel('Status').inputValue(), '429');

      requests.length = 0;
      await page.goto(`${gateway.origin}/console/logs`);
      await page.getByRole('region', { name: 'First call' }).waitFor();
      t.true(requests.length <= 12, `${requests.length} requests`);
      await call('gpt-ok', HOSTILE);
      const table = page.getByRole('table', { name: 'Logs' });
      await table.getByRole('link').first().waitFor();
      for (let i = 0; i < 3; i++) await call('gpt-ok', 'more');
      await page.getByText('4 entries').waitFor();
      await call('x'.repeat(3000), 'a long name');
      await page.getByText('5 entries').waitFor();

      await page.keyboard.press('/');
      await page.keyboard.type('gpt-ok');
      await page.keyboard.press('Enter');
      await page.getByText('4 entries').waitFor();
      t.is(new URL(page.url()).searchParams.get('q'), 'gpt-ok');
      await page.getByLabel('Search').blur();
      for (let i = 0; i < 4; i++) {
        await page.keyboard.press('j');
        await page.locator(`tr[data-row="${i}"] a:focus`).waitFor();
      }
      await page.keyboard.press('Enter');
      const request = page.getByRole('region', { name: 'Request' });
      await request.getByText('<img src=x').waitFor();
      for (const name of ['Response', 'Attempts']) await page.getByRole('region', { name }).waitFor();
      t.regex(page.url(), /\/console\/logs\/[\w-]+\?q=gpt-ok$/);
      await page.getByRole('link', { name: 'Previous entry' }).waitFor();
      await page.keyboard.press('k');
      await request.getByText('more').waitFor();
      await page.goBack();
      await request.getByText('<img src=x').waitFor();
      t.not(await page.title(), 'broken');
      await page.goBack();
      await table.waitFor();
      t.is(await page.getByLabel('Search').inputValue(), 'gpt-ok');

      // The session ends elsewhere: nothing stays on the screen, and signing in leads back.
      const { data } = (await ok(gateway, 'GET', '/sessions')) as { data: { id: string }[] };
      for (const { id } of data) await ok(gateway, 'DELETE', `/sessions/${id}`);
      await page.getByLabel('API key').waitFor();
      t.is(await table.count(), 0);
      await signIn(page, ADMIN_KEY);
      await table.waitFor();
      t.is(new URL(page.url()).searchParams.get('q'), 'gpt-ok');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key').waitFor();
      t.deepEqual(faults, []);
    },
  );

  test.serial('keys, configs, budgets, audit, figures and the playground do their work', async (t) => {
    t.timeout(170_000);
    const { gateway, provider, page, faults, call } = await bench(t, opened());
    for (let i = 0; i < 3; i++) await call('gpt-ok', 'hello');
    await page.goto(`${gateway.origin}/console/keys`);
    await signIn(page, ADMIN_KEY);

    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await dialog.getByLabel('Name').fill('From the console');
    t.not(await dialog.getByLabel('Workspace').inputValue(), '');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const secret = await dialog.getByLabel('Secret').inputValue();
    t.is((await call('gpt-ok', 'hi', secret)).status, 200);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('table', { name: 'Keys' }).getByText('From the console').waitFor();

    await page.goto(`${gateway.origin}/console/playground`);
    await page.getByLabel('Provider', { exact: true }).fill('openai');
    await page.getByLabel('Provider API key').fill('sk-provider');
    await page.getByLabel('Base URL').fill(`${provider.origin}/v1`);
    await page.getByLabel('Model').fill('gpt-ok');
    await page.getByLabel('Message').fill('hello');
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = page.getByRole('region', { name: 'Answer' });
    await answer.getByText('Hello').waitFor();
    await answer.getByRole('link').waitFor();
    t.is(provider.seen.at(-1)?.headers.authorization, 'Bearer sk-provider');
    t.is(provider.seen.at(-1)?.headers.cookie, undefined);
    t.false(page.url().includes('sk-provider'));

    await page.goto(`${gateway.origin}/console/configs/new`);
    await page.getByLabel('Name').fill('Routes');
    const editor = page.getByRole('textbox', { name: 'Config' });
    await editor.fill('{"strategy": {"mode": "sideways"}, "targets": []}');
    await page.getByRole('button', { name: 'Save' }).click();
    t.regex(await page.getByRole('alert').first().innerText(), /strategy/);
    await editor.fill('{"provider": "openai"}');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/\/console\/configs\/(?!new)[\w-]+$/);
    await page.getByRole('table', { name: 'Versions' }).waitFor();

    await page.goto(`${gateway.origin}/console/analytics?from=1h`);
    for (const name of ['Requests', 'Cost', 'Latency', 'Tokens', 'Errors']) {
      const figure = page.getByRole('figure', { name });
      await figure.getByRole('button', { name: 'Table' }).click();
    }
    t.regex(await page.getByRole('figure', { name: 'Requests' }).innerText(), /\b5\b/);
    await page.getByRole('table', { name: 'By model' }).getByRole('link', { name: 'gpt-ok' }).click();
    await page.getByText('5 entries').waitFor();

    const budget = { credit_limit: 5, type: 'cost' };
    const body = {
      name: 'Capped',
      workspace_id: 'default',
      scopes: ['completions.write'],
      usage_limits: budget,
    };
    await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
    await page.goto(`${gateway.origin}/console/budgets`);
    const budgets = page.getByRole('table', { name: 'Budgets' });
    await budgets.getByText('Capped').waitFor();
    for (const name of ['Spent', 'Held', 'Free']) await budgets.getByRole('columnheader', { name }).waitFor();

    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).fill('aud');
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: 'Audit log' }).waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    await page
      .getByRole('status')
      .getByText(/^intact, \d+ entries$/)
      .waitFor();
    t.deepEqual(faults, []);
  });

  test.serial('people are invited, sign in by a link, and try providers and guardrails', async (t) => {
    t.timeout(170_000);
    const mail = await startMailServer();
    t.teardown(() => mail.close());
    const { gateway, provider, page, faults } = await bench(t, opened(), { GATEWAY_SMTP_URL: mail.url });
    const email = 'ada@console.test';
    const { invite_link: link } = await ok(gateway, 'POST', '/admin/users/invites', {
      body: {
        email,
        role: 'member',
        workspaces: [{ id: 'default', role: 'admin' }],
        workspace_api_key_details: { scopes: ['logs.list', 'providers.list'] },
      },
    });
    await page.goto(String(link).replace(/^https?:\/\/[^/]+/, gateway.origin));
    await page.getByLabel('First name').fill('Ada');
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByLabel('Secret').waitFor();
    t.false(page.url().includes('token'), 'the address keeps no token');
    await page.getByRole('button', { name: 'Go to the console' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();

    await page.goto(`${gateway.origin}/console/logs?status=429`);
    await page.getByLabel('Email').fill(email);
    await page.getByRole('button', { name: 'Send link' }).click();
    await page.getByText('a link is on its way').waitFor();
    const text = await eventually('the mail', () => mail.messages.find((one) => one.includes('Sign in to')));
    const sent = text.replaceAll(/=\n/g, '').replaceAll('=3D', '=');
    await page.goto(/http\S+\/console\/sign-in\/link\?token=\S+/.exec(sent)?.[0] ?? '');
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    t.is(page.url(), `${gateway.origin}/console/logs?status=429`);
    await page.getByRole('button', { name: 'Sign out' }).click();

    await ok(gateway, 'POST', '/virtual-keys', {
      body: {
        name: 'Tried',
        slug: 'tried',
        provider: 'openai',
        key: 'sk-0123456789',
        custom_host: `${provider.origin}/v1`,
        workspace_id: 'default',
      },
    });
    const checks = [{ id: 'default.contains', parameters: { operator: 'none', words: ['secret'] } }];
    await ok(gateway, 'POST', '/guardrails', {
      body: { name: 'No secrets', workspace_id: 'default', checks, actions: { deny: true } },
    });
    await page.goto(`${gateway.origin}/console/providers`);
    await signIn(page, ADMIN_KEY);
    await page.getByRole('button', { name: 'Test Tried' }).click();
    await page.getByText(/works: \d+ models/).waitFor();
    await page.goto(`${gateway.origin}/console/guardrails`);
    await page.getByLabel('Text', { exact: true }).fill('a secret');
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByText('deny', { exact: true }).waitFor();
    await page.getByRole('table', { name: 'Checks' }).getByText('default.contains').waitFor();
    t.deepEqual(faults, []);
  });

  test.serial('workspace keys see what they may, and nothing of others', async (t) => {
    t.timeout(120_000);
    const { gateway, page } = await bench(t, opened());
    const body = { name: 'Reader', workspace_id: 'default', scopes: ['logs.list', 'logs.view'] };
    const { key } = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
    await page.goto(`${gateway.origin}/console/audit`);
    await signIn(page, String(key));
    const nav = page.getByRole('navigation', { name: 'Main' });
    t.deepEqual(await nav.getByRole('link').allInnerTexts(), ['Logs', 'Settings']);
    t.is(await page.getByRole('table', { name: 'Audit log' }).count(), 0);
  });
});

test.serial(
  'its files say who may run what, are compressed and kept; the page fits into 120 KB',
  async (t) => {
    const gateway = await startGateway();
    t.teardown(() => gateway.close());
    const get = (address: string) =>
      fetch(gateway.origin + address, { headers: { 'accept-encoding': 'br' } });
    const page = await get('/console/logs/anything');
    const html = await page.text();
    t.is(page.status, 200);
    const policy = page.headers.get('content-security-policy') ?? '';
    t.regex(policy, /^default-src 'none'; script-src 'self'; style-src 'self'/);
    t.regex(policy, /require-trusted-types-for 'script'/);
    t.notRegex(html, /<script(?![^>]* src=)|<style| style=| on\w+=/);
    t.is(page.headers.get('cache-control'), 'no-cache');
    const names = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(
      (match) => match[1] ?? '',
    );
    t.true(names.length >= 3);
    for (const name of names) {
      const file = await get(name);
      t.is(file.headers.get('cache-control'), 'public, max-age=31536000, immutable', name);
      t.is(file.headers.get('content-encoding'), 'br', name);
      await file.arrayBuffer();
    }
    // Without TLS browsers take no brotli from another machine.
    let bytes = 0;
    for (const name of ['/console/logs', ...names]) {
      const [plain, zipped] = await Promise.all(
        ['identity', 'gzip'].map((coding) =>
          fetch(gateway.origin + name, { headers: { 'accept-encoding': coding } }),
        ),
      );
      t.is(zipped?.headers.get('content-encoding'), 'gzip', name);
      t.is(await zipped?.text(), await plain?.text());
      bytes += Number(zipped?.headers.get('content-length'));
    }
    t.true(bytes < 120 * 1024, String(bytes));
    for (const name of [
      '/console/assets/nothing.js',
      '/console/assets/../../package.json',
      '/console/assets/%2e%2e/x',
    ])
      t.notRegex(await (await get(name)).text(), /sluice-gateway/, name);
  },
);
