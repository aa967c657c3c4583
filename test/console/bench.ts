// What a test of the console works with: a gateway, a provider, and a page in a browser.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import test, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { builtConsole, chromiumPath, openPage, sharedBrowser } from './browser.ts';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Declares tests that run in a browser; without one a single test says so. */
export function inBrowser(declare: (opened: () => Browser) => void): void {
  const path = chromiumPath();
  test.before(builtConsole);
  if (path === undefined) {
    test.serial('in a browser', (t) => {
      console.warn(
        'NO CHROMIUM: the console was not tried in a browser (apt-get install chromium, or CHROMIUM_PATH)',
      );
      t.pass();
    });
    return;
  }
  let shared: Awaited<ReturnType<typeof sharedBrowser>> | undefined;
  test.before(async () => {
    shared = await sharedBrowser(path);
  });
  test.after.always(() => shared?.release());
  declare(() => shared?.browser as Browser);
}

export async function bench(
  t: ExecutionContext,
  browser: Browser,
  env: Readonly<Record<string, string>> = {},
) {
  const gateway = await startGateway(env);
  t.teardown(() => gateway.close());
  const provider = await startFakeProvider();
  t.teardown(() => provider.close());
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  t.teardown(() => context.close());
  const watched = await openPage(context, gateway.origin);
  const call = (model: string, content: string, key = WORKSPACE_KEY) =>
    fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': key,
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': `${provider.origin}/v1`,
        authorization: 'Bearer sk',
      },
      body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
    });
  return { gateway, provider, call, context, ...watched };
}

interface Found {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** Fails for what axe calls serious or critical. @param rules alone; none: all */
export async function check(
  t: ExecutionContext,
  page: Page,
  what: string,
  rules: readonly string[] = [],
): Promise<void> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(AXE);
  const options = { resultTypes: ['violations'], ...(rules.length > 0 && { runOnly: rules }) };
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as Found;
  const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  t.deepEqual(
    serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`),
    [],
    what,
  );
}
