// The playground in a browser: one model or two, with tools, a price beforehand, and what is kept of it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { bench, inBrowser } from './bench.ts';
import { signIn } from './browser.ts';

const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];

inBrowser((opened) => {
  test.serial('two models answer side by side; tools and a price go with the message', async (t) => {
    t.timeout(170_000);
    const { gateway, provider, page, faults } = await bench(t, opened());
    const body = {
      provider: 'openai',
      model: 'gpt-priced',
      pay_as_you_go: { request_token: { price: 0.0001 }, response_token: { price: 0.0004 } },
    };
    await ok(gateway, 'POST', '/model-configs/pricing', { body });
    await page.goto(`${gateway.origin}/console/playground?provider=openai&model=gpt-priced`);
    await signIn(page, ADMIN_KEY);
    await page.getByRole('button', { name: 'Side by side' }).click();
    t.is(new URL(page.url()).searchParams.get('side_by_side'), '1');
    for (const mark of ['', ' 2']) {
      await page.getByLabel(`Provider${mark}`, { exact: true }).fill('openai');
      await page.getByLabel(`Provider API key${mark}`, { exact: true }).fill(`sk-provider${mark.trim()}`);
      await page.getByLabel(`Base URL${mark}`, { exact: true }).fill(`${provider.origin}/v1`);
    }
    await page.getByLabel('Model 2', { exact: true }).fill('gpt-other');
    await page.getByLabel('Message').fill('x'.repeat(400));
    await page.getByText('Tools and parameters').click();
    await page.getByLabel('Max tokens').fill('1000');
    const price = page.getByRole('status', { name: 'Price', exact: true });
    await price.getByText('own price').waitFor();
    // 100 tokens at 0.000001 and 1,000 at 0.000004 dollars.
    t.regex(await price.innerText(), /about \$0\.0001 for about 100 tokens in.*at most \$0\.0041 in all/);
    await page.getByText('Price: not known for this model.').waitFor();

    await page.getByLabel('Tools', { exact: true }).fill('{"type": "function"}');
    await page.getByRole('button', { name: 'Send' }).click();
    t.regex(await page.getByRole('alert').innerText(), /Tools: must be a JSON array/);
    t.is(provider.seen.length, 0);
    await page.getByLabel('Tools', { exact: true }).fill(JSON.stringify(TOOLS));
    await page.getByRole('button', { name: 'Send' }).click();
    for (const name of ['Answer', 'Answer 2']) {
      const answer = page.getByRole('region', { name, exact: true });
      await answer.getByText('Zürich').waitFor();
      await answer.getByRole('link', { name: 'Its entry in the log' }).waitFor();
    }
    const asked = provider.seen.map(({ headers, body }) => ({
      key: headers.authorization,
      ...(JSON.parse(body.toString()) as { model: string; tools: unknown; max_tokens: number }),
    }));
    t.deepEqual(asked.map(({ key, model }) => [key, model]).sort(), [
      ['Bearer sk-provider', 'gpt-priced'],
      ['Bearer sk-provider2', 'gpt-other'],
    ]);
    for (const { tools, max_tokens } of asked) {
      t.deepEqual(tools, TOOLS);
      t.is(max_tokens, 1000);
    }
    t.false(page.url().includes('sk-provider'));
    t.deepEqual(faults, []);
  });

  test.serial('an answer is stopped, and what was tried is kept as a prompt and as a config', async (t) => {
    t.timeout(170_000);
    const { gateway, provider, page, faults } = await bench(t, opened());
    await page.goto(`${gateway.origin}/console/playground?provider=openai&model=endless`);
    await signIn(page, ADMIN_KEY);
    await page.getByLabel('Provider API key').fill('sk-provider');
    await page.getByLabel('Base URL').fill(`${provider.origin}/v1`);
    await page.getByLabel('Message').fill('hello');
    provider.next('/v1/chat/completions', (_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'endless' };
      const choices = [{ index: 0, delta: { content: 'and on' }, finish_reason: null }];
      res.write(`data: ${JSON.stringify({ ...chunk, choices })}\n\n`);
    });
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = page.getByRole('region', { name: 'Answer' });
    await answer.getByText('and on').waitFor();
    t.true(await page.getByRole('button', { name: 'Send' }).isDisabled());
    await page.getByRole('button', { name: 'Stop' }).click();
    await answer.getByText('stopped').waitFor();

    await page.getByRole('button', { name: 'Save as prompt' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save as prompt' });
    await dialog.getByLabel('Name').fill('Tried');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('link', { name: 'open the prompt' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    const { data: prompts } = (await ok(gateway, 'GET', '/prompts')) as { data: { slug: string }[] };
    const prompt = await ok(gateway, 'GET', `/prompts/${prompts[0]?.slug}`);
    t.is(prompt.string, JSON.stringify([{ role: 'user', content: 'hello' }]));
    t.is(prompt.model, 'endless');

    await page.getByRole('button', { name: 'Save as config' }).click();
    const second = page.getByRole('dialog', { name: 'Save as config' });
    await second.getByLabel('Name').fill('Tried');
    await second.getByRole('button', { name: 'Save' }).click();
    await second.getByRole('link', { name: 'open the config' }).click();
    await page.waitForURL(/\/console\/configs\/[\w-]+$/);
    const config = await ok(gateway, 'GET', `/configs/${page.url().split('/').at(-1)}`);
    t.deepEqual(JSON.parse(String(config.config)), {
      provider: 'openai',
      custom_host: `${provider.origin}/v1`,
      override_params: { model: 'endless' },
    });
    t.deepEqual(faults, []);
  });

  test.serial('an entry is replayed as it was asked, and copied for a shell', async (t) => {
    t.timeout(170_000);
    const { gateway, provider, page, faults, context } = await bench(t, opened());
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: "it's three" },
    ];
    const headers = { 'x-gateway-provider': 'openai', 'x-gateway-custom-host': `${provider.origin}/v1` };
    const body = { model: 'gpt-ok', messages, tools: TOOLS, temperature: 0.5, max_tokens: 9 };
    await ok(gateway, 'POST', '/chat/completions', {
      key: WORKSPACE_KEY,
      headers: { ...headers, authorization: 'Bearer sk' },
      body,
    });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${gateway.origin}/console/logs`);
    await signIn(page, ADMIN_KEY);
    await page.getByRole('table', { name: 'Logs' }).getByRole('link').first().click();
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    t.regex(copied, /^curl -X POST 'http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions'/);
    t.true(copied.includes(`it'\\''s three`), copied);
    t.true(copied.includes("-H 'x-gateway-provider: openai'"), copied);
    t.true(copied.includes('-H "authorization: Bearer $PROVIDER_API_KEY"'), copied);
    t.false(copied.includes('slk_'));
    await page.getByRole('link', { name: 'Replay in the playground' }).click();
    await page.waitForURL(/\/console\/playground\?(?!.*replay)/);
    t.is(await page.getByLabel('Message').inputValue(), "it's three");
    t.is(await page.getByLabel('Instructions').inputValue(), 'Be brief.');
    t.is(await page.getByLabel('Model').inputValue(), 'gpt-ok');
    t.is(await page.getByLabel('Base URL').inputValue(), `${provider.origin}/v1`);
    await page.getByLabel('Provider API key').fill('sk-again');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('Zürich').waitFor();
    const { stream, stream_options: _, ...again } = JSON.parse(provider.seen.at(-1)?.body.toString() ?? '{}');
    t.true(stream);
    t.deepEqual(again, body);

    // A call of Anthropic's API is the same chat.
    const native = {
      model: 'gpt-native',
      max_tokens: 7,
      system: [{ type: 'text', text: 'Be short.' }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'by messages' }] }],
      tools: [{ name: 'weather', input_schema: { type: 'object' } }],
      stop_sequences: ['END'],
    };
    await ok(gateway, 'POST', '/messages', {
      key: WORKSPACE_KEY,
      headers: { ...headers, authorization: 'Bearer sk' },
      body: native,
    });
    await page.goto(`${gateway.origin}/console/logs?model=gpt-native`);
    await page.getByRole('table', { name: 'Logs' }).getByRole('link').first().click();
    await page.getByRole('link', { name: 'Replay in the playground' }).click();
    await page.waitForURL(/\/console\/playground\?(?!.*replay)/);
    t.is(await page.getByLabel('Message').inputValue(), 'by messages');
    t.is(await page.getByLabel('Instructions').inputValue(), 'Be short.');
    await page.getByLabel('Provider API key').fill('sk-again');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('Zürich').waitFor();
    t.like(JSON.parse(provider.seen.at(-1)?.body.toString() ?? '{}'), {
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'by messages' },
      ],
      tools: TOOLS,
      stop: ['END'],
      max_tokens: 7,
    });
    t.deepEqual(faults, []);
  });

  test.serial('a long answer is whole and in order, and a long refusal is cut', async (t) => {
    t.timeout(170_000);
    const { gateway, provider, page, faults } = await bench(t, opened());
    const words = Array.from({ length: 20_000 }, (_, i) => (i % 7 === 0 ? `w${i}\n` : `w${i} `));
    provider.next('/v1/chat/completions', (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < words.length; at += 500) {
        const delta = { content: words.slice(at, at + 500).join('') };
        res.write(`data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta }] })}\n\n`);
      }
      res.end('data: [DONE]\n\n');
    });
    await page.goto(`${gateway.origin}/console/playground?provider=openai&model=gpt-ok`);
    await signIn(page, ADMIN_KEY);
    await page.getByLabel('Base URL').fill(`${provider.origin}/v1`);
    await page.getByLabel('Provider API key').fill('sk');
    await page.getByLabel('Message').fill('hi');
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = page.getByRole('region', { name: 'Answer', exact: true });
    await answer.getByText('w19999').waitFor();
    await answer.getByRole('link', { name: 'Its entry in the log' }).waitFor();
    const shown = (await answer.locator('pre').allInnerTexts()).join('\n');
    t.deepEqual(
      shown.match(/w\d+/g),
      words.map((word) => word.trim()),
    );

    provider.next('/v1/chat/completions', (_req, res) => {
      res.writeHead(400, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ error: { message: 'x'.repeat(500_000) } }));
    });
    await page.getByRole('button', { name: 'Send' }).click();
    await answer.getByRole('alert').waitFor();
    t.true((await answer.getByRole('alert').innerText()).length < 2100);
    t.deepEqual(faults, []);
  });

  test.serial('a copied command does what it says in a shell, whatever a caller wrote', async (t) => {
    t.timeout(170_000);
    const { gateway, provider, page, faults, context } = await bench(t, opened());
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const hostile = 'it\'s $(echo run) `echo run` \\ "$HOME" !! \n@x';
    const call = (content: string) =>
      fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': WORKSPACE_KEY,
          'x-gateway-provider': 'openai',
          'x-gateway-custom-host': `${provider.origin}/v1`,
          'x-gateway-metadata': JSON.stringify({ note: "$(echo run) it's" }),
          'x-gateway-`echo`': 'a***b',
          'x-gateway-$PATH': 'a***b',
          authorization: 'Bearer sk',
        },
        body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content }] }),
      });
    await call(hostile);
    await call(`${hostile}${'x'.repeat(200_000)}`);
    await ok(gateway, 'POST', '/logs', {
      body: {
        request: { url: 'https://elsewhere.test/v1/chat/completions', method: 'POST', body: { model: 'm' } },
        response: { status: 200, body: {} },
      },
      key: WORKSPACE_KEY,
    });
    await page.goto(`${gateway.origin}/console/logs?model=gpt-ok`);
    await signIn(page, ADMIN_KEY);
    const copied = async (): Promise<string> => {
      await page.getByRole('button', { name: 'Copy as curl' }).click();
      return String(await page.evaluate('navigator.clipboard.readText()'));
    };
    const open = async (nth: number): Promise<void> => {
      await page.getByRole('table', { name: 'Logs' }).getByRole('link').nth(nth).click();
      await page.getByRole('region', { name: 'Request' }).waitFor();
    };
    await open(1);
    const short = pasted(await copied());
    t.deepEqual(short.args.slice(0, 5), [
      '-X',
      'POST',
      `${gateway.origin}/v1/chat/completions`,
      '-H',
      'x-gateway-api-key: own-key',
    ]);
    t.true(short.args.includes('authorization: Bearer own-credential'));
    t.true(short.args.includes(`x-gateway-metadata: {"note":"$(echo run) it's"}`), short.args.join('\n'));
    t.is(short.args.filter((arg) => /echo`|PATH/.test(arg) && !arg.startsWith('{')).length, 0);
    t.is(JSON.parse(short.args.at(-1) ?? '').messages[0].content, hostile);
    t.is(short.args.at(-2), '--data-raw');
    await page.goBack();
    await open(0);
    const long = pasted(await copied());
    t.is(long.args.at(-1), '@-');
    t.is(JSON.parse(long.input).messages[0].content.length, hostile.length + 200_000);
    // A page without TLS has no clipboard: the browser copies a selection.
    await page.goto(`${gateway.origin}/console/keys`);
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.getByRole('button', { name: 'New key' }).click();
    const dialog = page.getByRole('dialog', { name: 'New key' });
    await dialog.getByLabel('Name').fill('Pasted');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const secret = await dialog.getByLabel('Secret').inputValue();
    await dialog.getByRole('button', { name: 'Copy' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog.getByLabel('Name').press('ControlOrMeta+V');
    t.is(await dialog.getByLabel('Name').inputValue(), secret);
    await page.reload();
    // What was told of a call to another address does not get the gateway's key.
    await page.goto(`${gateway.origin}/console/logs?model=m`);
    await open(0);
    const told = await copied();
    t.true(told.includes('https://elsewhere.test/v1/chat/completions'), told);
    t.false(told.includes('GATEWAY_API_KEY'), told);
    t.deepEqual(faults, []);
  });
});

/** What a shell makes of a command: the arguments of curl, and what it reads. */
function pasted(command: string): { readonly args: readonly string[]; readonly input: string } {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-curl-'));
  try {
    const file = join(folder, 'command.sh');
    writeFileSync(file, `curl() { printf '%s\\n\\0' "$@"; printf '\\0'; cat; }\n${command}\n`);
    const out = execFileSync('sh', [file], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, GATEWAY_API_KEY: 'own-key', PROVIDER_API_KEY: 'own-credential' },
    });
    const [given = '', input = ''] = out.split('\n\0\0');
    return { args: given.split('\n\0'), input };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
