// Prompts in a browser: written, run with variables, compared, published.
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { bench, inBrowser } from './bench.ts';
import { signIn } from './browser.ts';

inBrowser((opened) => {
  test.serial('a prompt is written, run, changed, compared and published', async (t) => {
    t.timeout(170_000);
    const { gateway, provider, page, faults } = await bench(t, opened());
    await page.goto(`${gateway.origin}/console/prompts`);
    await signIn(page, ADMIN_KEY);
    await page.getByText('A prompt is a template').waitFor();
    await page.getByRole('link', { name: 'Write the first one' }).click();
    await page.getByLabel('Name').fill('Greeting');
    await page.getByLabel('Model').fill('gpt-ok');
    await page.getByLabel('Template').fill('[{"role": "user", "content": "Hello {{who}"}]');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Template').fill('[{"role": "user", "content": "Hello {{who}}"}]');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/\/console\/prompts\/(?!new)[\w-]+$/);
    const slug = page.url().split('/').at(-1) ?? '';

    const run = page.getByRole('region', { name: 'Run' });
    await run.getByLabel('who').fill('"Ada"');
    await run.getByLabel('Provider of the run').fill('openai');
    await run.getByLabel('Provider API key of the run').fill('sk-provider');
    await run.getByLabel('Base URL of the run').fill(`${provider.origin}/v1`);
    await run.getByRole('button', { name: 'Run' }).click();
    const answer = page.getByRole('region', { name: 'Answer' });
    await answer.getByText('Hello').waitFor();
    await answer.getByRole('link', { name: 'Its entry in the log' }).waitFor();
    const sent = JSON.parse(provider.seen.at(-1)?.body.toString() ?? '{}');
    t.deepEqual(sent.messages, [{ role: 'user', content: 'Hello "Ada"' }]);
    t.true(sent.stream);

    await page.getByLabel('Template').fill('[{"role": "user", "content": "Goodbye {{who}}"}]');
    await page.getByLabel('What is new').fill('Another word');
    await page.getByRole('button', { name: 'Save' }).click();
    const versions = page.getByRole('table', { name: 'Versions' });
    await versions.getByText('Another word').waitFor();
    const difference = page.getByRole('region', { name: 'Difference' });
    t.regex(await difference.locator('del').innerText(), /Hello/);
    t.regex(await difference.locator('ins').innerText(), /Goodbye/);
    t.is((await ok(gateway, 'GET', `/prompts/${slug}`)).prompt_version, 1);
    await page.getByRole('button', { name: 'Publish version 2' }).click();
    await page.getByRole('button', { name: 'Publish version 1' }).waitFor();
    t.is((await ok(gateway, 'GET', `/prompts/${slug}`)).prompt_version, 2);

    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').getByText('saved').waitFor();
    const { data } = (await ok(gateway, 'GET', `/prompts/${slug}/versions`)) as { data: unknown[] };
    t.is(data.length, 2, 'nothing new makes no version');
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Prompts' }).click();
    await page
      .getByRole('table', { name: 'Prompts' })
      .getByRole('link', { name: 'Greeting', exact: true })
      .waitFor();
    t.deepEqual(faults, []);
  });
});
