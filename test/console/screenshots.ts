// `npm run screenshots`: the start page, the guides, the reference and every page of the console as pictures, of a gateway with
// a few calls. They go to .cache/screenshots, or to the folder that is named.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../architecture/tools.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { builtConsole, chromiumPath, openBrowser, signIn } from './browser.ts';

const PLACES = ['/', '/docs/', '/docs/guides', '/docs/quick-start', '/docs/operating'];
const SIZE = { width: 1280, height: 900 };
const CALLS = 12;
const SETTLED_MS = 3000;

const folder = process.argv[2] ?? join(ROOT, '.cache', 'screenshots');

async function shot(page: Page, path: string, scheme: 'light' | 'dark'): Promise<void> {
  const name = path.replaceAll(/^\/|\/$/g, '').replaceAll('/', '-') || 'start';
  const file = join(folder, `${name}-${scheme}.png`);
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
  // Pages that follow what happens are never without a request.
  await page.waitForLoadState('networkidle', { timeout: SETTLED_MS }).catch(() => {});
  await page.screenshot({ path: file });
  process.stdout.write(`${file}\n`);
}

/** Calls that the log and the figures show. */
async function fill(gateway: TestGateway, provider: string): Promise<void> {
  for (let i = 0; i < CALLS; i++)
    await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': WORKSPACE_KEY,
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': `${provider}/v1`,
        authorization: 'Bearer sk-made-up',
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: `Question ${i}` }] }),
    });
}

/** Everything, in both colour schemes. */
async function takeAll(page: Page, gateway: TestGateway): Promise<void> {
  const both = async (path: string): Promise<void> => {
    await page.goto(`${gateway.origin}${path}`);
    for (const scheme of ['light', 'dark'] as const) await shot(page, path, scheme);
  };
  for (const path of PLACES) await both(path);
  await page.goto(`${gateway.origin}/console`);
  await shot(page, '/console-sign-in', 'light');
  await signIn(page, ADMIN_KEY);
  const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
  const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
  for (const path of paths) await both(path);
}

const chromium = chromiumPath();
if (chromium === undefined) throw new Error('a chromium is needed: install one, or name it in CHROMIUM_PATH');
mkdirSync(folder, { recursive: true });
await builtConsole();
const [provider, gateway, browser] = await Promise.all([
  startFakeProvider(),
  startGateway({ LOG_LEVEL: 'silent' }),
  openBrowser(chromium),
]);
try {
  await fill(gateway, provider.origin);
  await takeAll(await browser.newPage({ viewport: SIZE }), gateway);
} finally {
  await browser.close();
  await gateway.close();
  await provider.close();
}
