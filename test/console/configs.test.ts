// Configs in a browser: completion, faults in place, a dry run, versions, and two people who save at once.
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { bench, inBrowser } from './bench.ts';
import { signIn } from './browser.ts';

inBrowser((opened) => {
  test.serial(
    'members and words are completed as the contract has them, faults stand in place',
    async (t) => {
      t.timeout(170_000);
      const { gateway, page, faults } = await bench(t, opened());
      await ok(gateway, 'POST', '/virtual-keys', {
        body: { name: 'Stored', slug: 'stored', provider: 'openai', key: 'sk-01', workspace_id: 'default' },
      });
      await page.goto(`${gateway.origin}/console/configs/new`);
      await signIn(page, ADMIN_KEY);
      await page.getByLabel('Name').fill('Routes');
      const editor = page.getByRole('textbox', { name: 'Config' });
      const offered = async (text: string, wanted: string): Promise<void> => {
        await editor.fill('');
        await editor.pressSequentially(text);
        await page.keyboard.press('Control+Space');
        await page.getByRole('option', { name: wanted }).first().waitFor();
        await page.keyboard.press('Escape');
      };
      await offered('{"strategy": {"mo', '"mode"');
      await offered('{"strategy": {"mode": "', '"loadbalance"');
      await offered('{"targets": [{"retry": {"use_', '"use_retry_after_header"');
      await offered('{"on_client_cut": ', '"drain"');
      await offered('{"provider": "@', '"@stored"');
      await offered('{"provider": "azure-openai", "azure', '"azure_resource_name"');

      await editor.fill('{\n  "provider": "openai",\n  "retry": {\n    "attempts": 77\n  }\n}');
      await page.getByRole('button', { name: 'Save' }).click();
      t.regex(await page.getByRole('alert').first().innerText(), /^line 4: .*retry\.attempts/);
      t.is(await page.locator('.cm-lintRange-error').innerText(), '"attempts"');
      t.deepEqual(faults, []);
    },
  );

  test.serial('a dry run says where a call would go, and is in no log', async (t) => {
    t.timeout(170_000);
    const { gateway, page, faults } = await bench(t, opened());
    await page.goto(`${gateway.origin}/console/configs/new`);
    await signIn(page, ADMIN_KEY);
    const condition = Object.fromEntries([
      ['query', { 'metadata.team': 'search' }],
      ['then', 'fast'],
    ]);
    const config = {
      strategy: { mode: 'conditional', conditions: [condition], default: 'slow' },
      targets: [
        { name: 'fast', provider: 'groq' },
        { name: 'slow', provider: 'openai', cb_config: { failure_threshold: 3 } },
      ],
    };
    await page.getByRole('textbox', { name: 'Config' }).fill(JSON.stringify(config, null, 2));
    const run = page.getByRole('region', { name: 'Dry run' });
    await run.getByLabel('Metadata').fill('{"team": "search"}');
    await run.getByRole('button', { name: 'Try' }).click();
    await run.getByRole('table', { name: 'Targets' }).getByText('groq').waitFor();
    await run.getByRole('table', { name: 'Conditions' }).waitFor();
    await run.getByLabel('Metadata').fill('');
    await run.getByRole('button', { name: 'Try' }).click();
    await run.getByRole('table', { name: 'Targets' }).getByText('openai').waitFor();
    await run.getByLabel('Metadata').fill('{"team"');
    await run.getByRole('button', { name: 'Try' }).click();
    await run.getByRole('alert').getByText('Metadata: is no JSON').waitFor();
    const { total } = await ok(gateway, 'GET', '/logs');
    t.is(total, 0);
    t.deepEqual(faults, []);
  });

  test.serial('versions are compared, users are named, and who saves second sees both', async (t) => {
    t.timeout(170_000);
    const { gateway, page, faults } = await bench(t, opened());
    const { slug, id } = await ok(gateway, 'POST', '/configs', {
      body: { name: 'Shared', config: { provider: 'openai' }, workspace_id: 'default' },
    });
    await ok(gateway, 'POST', '/api-keys/workspace/service', {
      body: {
        name: 'Bound',
        workspace_id: 'default',
        scopes: ['completions.write'],
        defaults: { config_id: id },
      },
    });
    await page.goto(`${gateway.origin}/console/configs/${slug}`);
    await signIn(page, ADMIN_KEY);
    await page.getByRole('table', { name: 'Used by' }).getByText('Bound').waitFor();
    const editor = page.getByRole('textbox', { name: 'Config' });
    await editor.fill('{"provider": "groq"}');
    await ok(gateway, 'PUT', `/configs/${slug}`, { body: { config: { provider: 'mistral-ai' } } });
    await page.getByRole('button', { name: 'Save' }).click();
    const conflict = page.getByRole('region', { name: 'Saved by another' });
    await conflict.getByRole('region', { name: 'Theirs and yours' }).getByText('mistral-ai').waitFor();
    await conflict.getByText('{"provider": "groq"}').first().waitFor();
    t.regex(String((await ok(gateway, 'GET', `/configs/${slug}`)).config), /mistral-ai/);
    await conflict.getByRole('button', { name: 'Save mine over it' }).click();
    await conflict.waitFor({ state: 'detached' });
    const versions = page.getByRole('table', { name: 'Versions' });
    await versions.getByRole('row').nth(3).waitFor();
    t.regex(String((await ok(gateway, 'GET', `/configs/${slug}`)).config), /groq/);

    const difference = page.getByRole('region', { name: 'Difference' });
    t.is((await difference.locator('del').innerText()).trim(), '"provider": "mistral-ai"');
    t.is((await difference.locator('ins').innerText()).trim(), '"provider": "groq"');
    await page.getByLabel('From version').selectOption({ index: 2 });
    await difference.locator('del', { hasText: 'openai' }).waitFor();
    t.true(new URL(page.url()).searchParams.has('before'));
    await page.getByRole('button', { name: 'Edit version 1' }).click();
    await editor.getByText('openai').waitFor();
    t.deepEqual(faults, []);
  });
});
