// What goes wrong around a page in a browser: its session ends, its gateway goes, entries hold anything.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { bench, inBrowser } from './bench.ts';
import { signIn } from './browser.ts';
import { startWire } from './wire.ts';

inBrowser((opened) => {
  test.serial('a session that ends leaves nothing on the screen, in no window, and leads back', async (t) => {
    t.timeout(170_000);
    const { gateway, page, context, faults } = await bench(t, opened());
    await page.goto(`${gateway.origin}/console/keys`);
    await signIn(page, ADMIN_KEY);
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await dialog.getByLabel('Name').fill('Seen');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const secret = await dialog.getByLabel('Secret').inputValue();

    // It ends elsewhere; the next call of the page tells it.
    const { data } = (await ok(gateway, 'GET', '/sessions')) as { data: { id: string }[] };
    for (const { id } of data) await ok(gateway, 'DELETE', `/sessions/${id}`);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Revoke Seen' }).click();
    await page.getByRole('dialog', { name: 'Revoke' }).getByRole('button', { name: 'Revoke' }).click();
    await page.getByLabel('API key').waitFor();
    t.false((await page.content()).includes(secret));
    t.is(await page.getByText('Seen').count(), 0);
    t.is(await page.getByRole('dialog').count(), 0);
    await signIn(page, ADMIN_KEY);
    t.is(page.url(), `${gateway.origin}/console/keys`);
    await page.getByRole('table', { name: 'Keys' }).getByText('Seen').waitFor();

    // Signing out in one window empties the others.
    const other = await context.newPage();
    await other.goto(`${gateway.origin}/console/budgets`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    t.is(await page.getByRole('table').count(), 0);
    t.is(await page.title(), 'Sign in · Sluice');

    // Signing in there as somebody else shows theirs in all of them.
    await signIn(page, ADMIN_KEY);
    await other.getByRole('table', { name: 'Budgets' }).waitFor();
    await other.getByRole('button', { name: 'Sign out' }).click();
    await signIn(other, WORKSPACE_KEY);
    await page.getByText('There is no such page, or not for this key.').waitFor();
    t.is(await page.getByRole('link', { name: 'Keys' }).count(), 0);
    t.deepEqual(faults, []);
  });

  test.serial('a gateway that goes while entries are followed is told, and no entry is missed', async (t) => {
    t.timeout(170_000);
    const folder = mkdtempSync(join(tmpdir(), 'sluice-tail-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const { gateway, page, call } = await bench(t, opened(), { GATEWAY_DATA_DIR: folder });
    await call('gpt-ok', 'before');
    await page.goto(`${gateway.origin}/console/logs`);
    await signIn(page, ADMIN_KEY);
    await page.getByText('1 entries').waitFor();
    await gateway.close();
    await page.getByRole('alert').getByText('The gateway does not answer').waitFor();
    const again = await startGateway({ GATEWAY_DATA_DIR: folder, PORT: String(gateway.port) });
    t.teardown(() => again.close());
    // Made before the page is back.
    await Promise.all(['a', 'b', 'c'].map((content) => call('gpt-ok', content)));
    await page.getByText('4 entries').waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await call('gpt-ok', 'after');
    await page.getByText('5 entries').waitFor();
    const rows = page.getByRole('table', { name: 'Logs' }).getByRole('link');
    const hrefs = await rows.evaluateAll((links) => links.map(({ href }) => href));
    t.is(new Set(hrefs).size, 5);
  });

  test.serial('a window out of sight follows nothing, and has everything when it is looked at', async (t) => {
    t.timeout(170_000);
    const { gateway, page, call, faults } = await bench(t, opened());
    await call('gpt-ok', 'a');
    await page.goto(`${gateway.origin}/console/logs`);
    await signIn(page, ADMIN_KEY);
    await page.getByText('1 entries').waitFor();
    await call('gpt-ok', 'b');
    await page.getByText('2 entries').waitFor();
    const turn = (state: string) =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });` +
          `document.dispatchEvent(new Event('visibilitychange'))`,
      );
    const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/TailLogs'));
    await turn('hidden');
    await ended;
    await call('gpt-ok', 'c');
    t.is(await page.getByText('2 entries').count(), 1);
    t.is(await page.getByRole('alert').count(), 0);
    await turn('visible');
    await page.getByText('3 entries').waitFor();
    await call('gpt-ok', 'd');
    await page.getByText('4 entries').waitFor();
    t.deepEqual(faults, []);
  });

  test.serial('a reader who is one too many is told so, and not that the gateway is gone', async (t) => {
    t.timeout(170_000);
    const { gateway, page, call } = await bench(t, opened());
    const left = new AbortController();
    t.teardown(() => left.abort());
    const readers = Array.from({ length: 50 }, async () => {
      const answer = await fetch(`${gateway.origin}/v1/logs/tail`, {
        headers: { 'x-gateway-api-key': ADMIN_KEY },
        signal: left.signal,
      });
      t.is(answer.status, 200);
    });
    await Promise.all(readers);
    await call('gpt-ok', 'a');
    await page.goto(`${gateway.origin}/console/logs`);
    await signIn(page, ADMIN_KEY);
    await page.getByRole('alert').getByText('50 callers follow the log already').waitFor();
    t.is(await page.getByText('The gateway does not answer').count(), 0);
    left.abort();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await call('gpt-ok', 'b');
    await page.getByText('2 entries').waitFor();
  });

  test.serial(
    'a gateway that falls silent is told, and rows that are read stay where they are',
    async (t) => {
      t.timeout(170_000);
      const { gateway, context, page, call } = await bench(t, opened());
      const wire = await startWire(gateway.port);
      t.teardown(() => wire.close());
      for (const content of ['a', 'b', 'c']) await call('gpt-ok', content);
      await context.clock.install();
      await page.goto(`http://127.0.0.1:${wire.port}/console/logs`);
      await signIn(page, ADMIN_KEY);
      await page.getByText('3 entries').waitFor();
      // The stream stands when an entry has come over it.
      await call('gpt-ok', 'd');
      await page.getByText('4 entries').waitFor();
      const links = page.getByRole('table', { name: 'Logs' }).getByRole('link');
      await links.first().focus();
      const read = await links.first().getAttribute('href');
      await call('gpt-ok', 'e');
      await page.getByRole('button', { name: '1 new' }).waitFor();
      t.is(await links.first().getAttribute('href'), read);
      t.is(await links.count(), 4);
      await page.getByRole('button', { name: '1 new' }).click();
      await page.getByText('5 entries').waitFor();
      wire.freeze();
      await call('gpt-ok', 'f');
      await context.clock.fastForward(26_000);
      await page.getByRole('alert').getByText('The gateway does not answer').waitFor();
      wire.thaw();
      await page.getByText('6 entries').waitFor();
      await page.getByRole('alert').waitFor({ state: 'detached' });
    },
  );

  test.serial('entries may hold anything: markup, marks of direction, a megabyte', async (t) => {
    t.timeout(170_000);
    const { gateway, page, faults, call } = await bench(t, opened());
    const markup = '<img src=x onerror="document.title=`broken`"><script>document.title="broken"</script>';
    const turned = 'safe\u202egnp.exe\u2066';
    await call('gpt-ok', `${markup} ${turned} ${'long '.repeat(220_000)}`);
    await call(`${markup}${turned}`, 'a model of any name');
    await page.goto(`${gateway.origin}/console/logs`);
    await signIn(page, ADMIN_KEY);
    const table = page.getByRole('table', { name: 'Logs' });
    await table.getByText('<img src=x').first().waitFor();
    t.is(await page.locator('img, main script').count(), 0);
    await page.getByLabel('Model').fill('gpt-ok');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('1 entries').waitFor();
    await table.getByRole('link').first().click();
    const request = page.getByRole('region', { name: 'Request' });
    await request.getByText('folded').waitFor();
    const shown = await request.locator('pre').first().innerText();
    t.true(shown.includes('<img src=x'));
    t.true(shown.includes('safe\\u202egnp.exe\\u2066'), shown.slice(0, 400));
    t.true(shown.length < 10_000);
    await request.getByRole('button', { name: 'Show more' }).click();
    await request.locator('pre').nth(1).waitFor();
    t.not(await page.title(), 'broken');
    t.deepEqual(faults, []);
  });

  test.serial('a browser whose clock is wrong shows the same; addresses may hold anything', async (t) => {
    t.timeout(170_000);
    const { gateway, page, context, faults, call } = await bench(t, opened());
    await call('gpt-ok', 'hello');
    for (const days of [-3, 3]) {
      await context.clock.setSystemTime(Date.now() + days * 86_400_000);
      await page.goto(`${gateway.origin}/console/analytics?from=1h`);
      if (days === -3) await signIn(page, ADMIN_KEY);
      const figure = page.getByRole('figure', { name: 'Requests' });
      await figure.getByRole('link', { name: days === -3 ? '1' : '2', exact: true }).waitFor();
      await page.goto(`${gateway.origin}/console/logs?from=15m`);
      await page.getByText(days === -3 ? '1 entries' : '2 entries').waitFor();
      await call('gpt-ok', 'followed');
      await page.getByText(days === -3 ? '2 entries' : '3 entries').waitFor();
    }
    for (const path of [
      'logs/%E0%A4%A',
      'configs/%00',
      'prompts/..%2F..',
      'nothing/at/all',
      'analytics?by=__proto__',
    ]) {
      await page.goto(`${gateway.origin}/console/${path}`);
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
      await page.locator('[role="alert"], .empty').first().waitFor();
    }
    t.deepEqual(faults, []);
  });
});
