// Analytics in a browser: filters, groups that lead to their entries, files for spreadsheets, a month by team.
import { readFile } from 'node:fs/promises';
import test from 'ava';
import type { Page } from 'playwright-core';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { bench, inBrowser } from './bench.ts';
import { signIn } from './browser.ts';

const FORMULA = '=HYPERLINK("http://x","y")';

inBrowser((opened) => {
  test.serial('filters, groups and months add up to the entries that they lead to', async (t) => {
    t.timeout(170_000);
    const { gateway, provider, page, faults } = await bench(t, opened());
    const call = (model: string, team: string) =>
      fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': WORKSPACE_KEY,
          'x-gateway-provider': 'openai',
          'x-gateway-custom-host': `${provider.origin}/v1`,
          'x-gateway-metadata': JSON.stringify({ team }),
          authorization: 'Bearer sk',
        },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
      });
    await ok(gateway, 'POST', '/model-configs/pricing', {
      body: {
        provider: 'openai',
        model: 'gpt-ok',
        pay_as_you_go: { request_token: { price: 0.001 }, response_token: { price: 0.002 } },
      },
    });
    for (const team of ['red', 'red', 'blue']) await call('gpt-ok', team);
    await call('gpt-other', FORMULA);
    await call('status-429', 'blue');

    await page.goto(`${gateway.origin}/console/analytics?from=1h`);
    await signIn(page, ADMIN_KEY);
    const figure = (name: string) => page.getByRole('figure', { name, exact: true });
    await figure('Requests').getByRole('link', { name: '5', exact: true }).waitFor();
    await figure('Errors').getByRole('link', { name: '1', exact: true }).click();
    await page.getByText('1 entries').waitFor();
    t.is(new URL(page.url()).searchParams.get('status'), '429');
    await page.goBack();

    await page.getByLabel('Model', { exact: true }).fill('gpt-ok');
    await page.getByRole('button', { name: 'Apply' }).click();
    await figure('Requests').getByRole('link', { name: '3', exact: true }).waitFor();
    // 11 tokens in and 7 out, three times.
    await figure('Cost').getByRole('link', { name: '$0.00075', exact: true }).waitFor();
    await page.getByLabel('Provider', { exact: true }).fill('groq');
    await page.getByRole('button', { name: 'Apply' }).click();
    await figure('Requests').getByRole('link', { name: '0', exact: true }).waitFor();

    await page.goto(`${gateway.origin}/console/analytics?from=1h&compare=1`);
    await figure('Requests').getByText('before: 0').waitFor();
    await page.getByLabel('Group by').selectOption('metadata');
    const groups = page.getByRole('table', { name: 'By team' });
    await groups.getByRole('link', { name: 'red' }).waitFor();
    const saved = await file(page, 'CSV');
    t.true(saved.includes(`"'=HYPERLINK(""http://x"",""y"")"`), saved);
    await page.getByLabel('Measure').selectOption('cost');
    const overTime = page.getByRole('region', { name: 'Over time' });
    await overTime.getByRole('button', { name: 'Table' }).click();
    t.is(await page.getByRole('figure').count(), 5);
    // What is shown as a table is one after a reload, too.
    await page.reload();
    await overTime.getByRole('columnheader', { name: 'red' }).waitFor();
    await groups.getByRole('link', { name: 'red' }).click();
    await page.getByText('2 entries').waitFor();
    await page.goBack();

    await page.getByRole('button', { name: 'Month by team' }).click();
    const month = page.getByRole('region', { name: 'Month by team' });
    await month.getByRole('table', { name: 'Cost by team' }).getByText('5', { exact: true }).waitFor();
    await month.getByLabel('Team', { exact: true }).fill('team');
    await month.getByRole('button', { name: 'Show' }).click();
    await month.getByRole('row', { name: 'red 2 $0.0005' }).waitFor();
    const lines = (await file(page, 'CSV of the month')).split('\r\n');
    const now = new Date().toISOString().slice(0, 7);
    t.true(lines.includes(`${now},red,2,0.0005`), lines.join('\n'));
    await page.getByLabel('Status', { exact: true }).fill('429');
    await page.getByRole('button', { name: 'Apply' }).click();
    await month.getByRole('row', { name: 'blue 1 $0' }).getByRole('link').click();
    await page.getByText('1 entries').waitFor();

    // Keys are told by their names, and led to by their ids.
    await page.goto(`${gateway.origin}/console/analytics?from=1h&by=api_key`);
    const keys = page.getByRole('table', { name: 'By key' });
    await keys.getByRole('link', { name: 'First workspace key', exact: true }).waitFor();
    const named = await file(page, 'CSV');
    t.regex(named, /\nFirst workspace key,5,.*,[0-9a-f-]{36}\r\n/);
    await keys.getByRole('link', { name: 'First workspace key', exact: true }).click();
    await page.getByText('5 entries').waitFor();
    await page.getByRole('button', { name: 'key: First workspace key' }).waitFor();
    await page.getByRole('table', { name: 'Logs' }).getByRole('link').first().click();
    await page.getByRole('main').getByText('First workspace key', { exact: true }).waitFor();

    // A comma is part of a name, and not between two.
    await call('gpt-a,gpt-ok', 'red');
    await page.goto(`${gateway.origin}/console/analytics?from=1h`);
    await page.getByRole('table', { name: 'By model' }).getByRole('link', { name: 'gpt-a,gpt-ok' }).click();
    await page.getByText('1 entries').waitFor();
    await page.goto(`${gateway.origin}/console/logs?values=1`);
    await page
      .getByRole('region', { name: 'By model' })
      .getByRole('button', { name: 'gpt-a,gpt-ok' })
      .click();
    await page.getByText('1 entries').waitFor();

    const { data } = (await ok(gateway, 'GET', '/logs?status_code=429')) as { data: readonly Failed[] };
    const reason = data[0]?.error?.reason ?? '';
    await page.goto(`${gateway.origin}/console/analytics?from=1h`);
    await page.getByLabel('Group by').selectOption('error_reason');
    await page
      .getByRole('table', { name: 'By error' })
      .getByRole('link', { name: reason, exact: true })
      .click();
    await page.getByText('1 entries').waitFor();
    t.is(new URL(page.url()).searchParams.get('error_reason'), reason);
    await page.goto(`${gateway.origin}/console/logs`);
    await page.getByRole('button', { name: 'Values' }).click();
    await page.getByRole('region', { name: 'By error' }).waitFor();
    await page.reload();
    await page.getByRole('region', { name: 'By error' }).getByRole('button', { name: reason }).click();
    await page.getByText('1 entries').waitFor();
    t.is(new URL(page.url()).searchParams.get('error_reason'), reason);
    t.deepEqual(faults, []);
  });

  test.serial(
    'groups beyond a page are in the file, calls of none are a line, and all lines add up',
    async (t) => {
      t.timeout(170_000);
      const { gateway, provider, page, faults } = await bench(t, opened());
      const call = (metadata: Readonly<Record<string, string>>, model = 'gpt-ok') =>
        fetch(`${gateway.origin}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-gateway-api-key': WORKSPACE_KEY,
            'x-gateway-provider': 'openai',
            'x-gateway-custom-host': `${provider.origin}/v1`,
            'x-gateway-metadata': JSON.stringify(metadata),
            authorization: 'Bearer sk',
          },
          body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
        });
      await ok(gateway, 'POST', '/model-configs/pricing', {
        body: {
          provider: 'openai',
          model: 'gpt-ok',
          pay_as_you_go: { request_token: { price: 0.0000001 }, response_token: { price: 0 } },
        },
      });
      // The default page of groups has 100.
      for (let i = 0; i < 110; i += 10)
        await Promise.all(Array.from({ length: 10 }, (_, n) => call({ team: `t${i + n}`, env: 'a' })));
      await call({ team: 't0', env: 'b' });
      await call({ team: 't1;=1+1' }, 'status-503');
      await call({});
      await page.goto(`${gateway.origin}/console/analytics?from=1h&month=current&team=team`);
      await signIn(page, ADMIN_KEY);
      const month = page.getByRole('table', { name: 'Cost by team' });
      await month.getByRole('row', { name: '(none) 1' }).waitFor();
      const lines = (await file(page, 'CSV of the month')).trim().split('\r\n').slice(1);
      t.is(lines.length, 112);
      t.is(
        lines.reduce((sum, line) => sum + Number(line.split(',').at(-2)), 0),
        113,
      );
      t.true(
        lines.some((line) => line.includes(',"t1;=1+1",1,')),
        lines.join('\n'),
      );

      // Both members of the metadata count in the link, and what a table's line tells is what it leads to.
      await page.goto(
        `${gateway.origin}/console/analytics?from=1h&by=metadata&metadata=${encodeURIComponent('{"env":"b"}')}`,
      );
      await page
        .getByRole('table', { name: 'By team' })
        .getByRole('link', { name: 't0', exact: true })
        .click();
      await page.getByText('1 entries').waitFor();
      await page.goto(`${gateway.origin}/console/analytics?from=1h&tables=Requests,Errors,Courses`);
      const figure = (name: string) => page.getByRole('figure', { name, exact: true });
      await figure('Errors').getByRole('table').getByRole('link').first().click();
      await page.getByText('1 entries').waitFor();
      await page.goBack();
      await figure('Requests').getByRole('table').getByRole('link').first().waitFor();
      const rows = await figure('Requests').getByRole('table').getByRole('row').allInnerTexts();
      const counts = rows.slice(1).map((row) => Number(row.split('\t').at(-1)));
      t.is(
        counts.reduce((sum, count) => sum + count, 0),
        113,
      );
      for (const [i, count] of counts.entries()) {
        await figure('Requests').getByRole('table').getByRole('link').nth(i).click();
        await page.getByText(`${count} entries`).waitFor();
        const { searchParams } = new URL(page.url());
        t.true((searchParams.get('from') ?? '') < (searchParams.get('to') ?? ''), page.url());
        await page.goBack();
      }
      const overTime = page.getByRole('region', { name: 'Over time' });
      await overTime.getByRole('cell').getByRole('link', { name: '1', exact: true }).first().click();
      await page.getByText('1 entries').waitFor();
      t.is(new URL(page.url()).searchParams.get('model'), 'status-503');
      await page.goto(
        `${gateway.origin}/console/analytics?from=1h&measure=cost&tables=Courses&metadata=${encodeURIComponent('{"env":"b"}')}`,
      );
      await overTime.getByRole('cell', { name: '$0.000000011', exact: true }).waitFor();
      await figure('Cost').getByRole('link', { name: '$0.000000011', exact: true }).waitFor();
      t.deepEqual(faults, []);
    },
  );
});

interface Failed {
  readonly error?: { readonly reason: string };
}

async function file(page: Page, button: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button, exact: true }).click(),
  ]);
  return readFile(await download.path(), 'utf8');
}
