// Pictures of /, of guides and of every page of the console, light and dark, over a gateway with a month of made-up traffic:
// npm run screenshots [-- --folder .cache/screenshots] [--readme: only those of the README, into its folder]
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import type { RequestRecord } from '../../src/call/record.ts';
import { END } from '../bench/log-generator.ts';
import { ADMIN_KEY, type Sluice, startSluice } from '../bench/sluice.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { type Json, ok } from '../support/front-door.ts';
import { builtConsole, chromiumPath, openBrowser, signIn } from './browser.ts';
import { fillLog } from './fill-log.ts';

const { values: options } = parseArgs({
  options: {
    folder: { type: 'string', default: '.cache/screenshots' },
    readme: { type: 'boolean', default: false },
  },
});
const README_FOLDER = fileURLToPath(new URL('../../.github/images/', import.meta.url));
const ENTRIES = 40_000;
const DOCS = { root: '/', docs: '/docs', guides: '/docs/guides', 'quick-start': '/docs/quick-start' };

/** What stands in the README, and in which colours. */
const README: Readonly<Record<string, 'light' | 'dark'>> = {
  logs: 'light',
  entry: 'dark',
  analytics: 'light',
  playground: 'light',
  config: 'dark',
  guardrails: 'light',
  budgets: 'light',
  audit: 'dark',
};

const MODELS = [
  ['openai', 'gpt-5.2-mini'],
  ['anthropic', 'claude-sonnet-5'],
  ['google', 'gemini-3-flash'],
  ['openai', 'gpt-5.2'],
  ['mistral-ai', 'mistral-large-2611'],
  ['groq', 'llama-4-scout'],
  ['deepseek', 'deepseek-chat'],
] as const;
const ERRORS = ['rate_limited', 'upstream_status', 'guardrail_denied', 'upstream_timeout'] as const;

await main();

async function main(): Promise<void> {
  const program = chromiumPath();
  if (program === undefined)
    throw new Error('there is no chromium: apt-get install chromium, or CHROMIUM_PATH');
  await builtConsole();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-screenshots-'));
  const dataDir = join(folder, 'data');
  const shift = Date.now() - END;
  await fillLog(dataDir, ENTRIES, (entry) => named(entry, shift));
  const upstream = await startFakeProvider();
  const sluice = await startSluice(folder, undefined, {
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_LOG_BODIES: 'full',
    GATEWAY_PROVIDERS_FROM_ENV: '0',
  });
  const browser = await openBrowser(program);
  try {
    const paths = await saved(sluice, upstream.origin);
    const page = await (
      await browser.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: 'UTC' })
    ).newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${sluice.origin}/console/settings`);
    await signIn(page, ADMIN_KEY);
    for (const [name, path] of Object.entries({ ...DOCS, ...paths }))
      await pictures(page, sluice, name, path, upstream.origin);
  } finally {
    await browser.close();
    await sluice.child.stop();
    await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The entry with names that people know, as far from now as it was from the end of the made-up month. */
function named(entry: RequestRecord, shift: number): RequestRecord {
  const n = Number(/\d+$/.exec(entry.model ?? '')?.[0] ?? 0);
  const [provider, model] = MODELS[Math.min(MODELS.length - 1, Math.floor(n / 6))] ?? MODELS[0];
  const error = entry.error && { ...entry.error, reason: ERRORS[n % ERRORS.length] ?? 'upstream_status' };
  const names = { provider, model, responseModel: model };
  return {
    ...entry,
    ...names,
    createdAt: entry.createdAt + shift,
    attempts: entry.attempts.map((attempt) => ({
      ...attempt,
      provider,
      model,
      startedAt: attempt.startedAt + shift,
    })),
    ...(error ? { error } : {}),
  } as RequestRecord;
}

/** One of each that pages show. @returns the pages by name */
async function saved(sluice: Sluice, origin: string): Promise<Readonly<Record<string, string>>> {
  const post = (path: string, body: Json): Promise<Json> =>
    ok(sluice, 'POST', path, { key: ADMIN_KEY, body: { workspace_id: 'default', ...body } });
  const targets = [
    { provider: 'anthropic', weight: 0.7, override_params: { model: 'claude-sonnet-5' } },
    { provider: 'openai', weight: 0.3, override_params: { model: 'gpt-5.2-mini' } },
  ];
  const routes = {
    strategy: { mode: 'loadbalance' },
    targets,
    retry: { attempts: 3 },
    cache: { mode: 'simple' },
  };
  const { slug } = await post('/configs', {
    name: 'Chat routes',
    config: { ...routes, retry: { attempts: 1 } },
  });
  await ok(sluice, 'PUT', `/configs/${slug}`, { key: ADMIN_KEY, body: { config: routes } });
  const prompt = await post('/prompts', {
    name: 'Ticket summary',
    string: 'Summarise the ticket below in {{sentences}} sentences.\n\n{{ticket}}',
    parameters: { model: 'gpt-5.2-mini', temperature: 0.2 },
  });
  for (const provider of ['openai', 'anthropic', 'groq'])
    await post('/virtual-keys', { name: `Team ${provider}`, provider, key: 'sk-made-up-0123456789' });
  await post('/guardrails', {
    name: 'No card numbers',
    checks: [{ id: 'default.regexMatch', parameters: { rule: '\\b(?:\\d[ -]?){13,16}\\b', not: true } }],
    actions: { deny: true },
  });
  await post('/guardrails', {
    name: 'Answers in JSON',
    checks: [{ id: 'default.jsonKeys', parameters: { keys: ['answer'], operator: 'all' } }],
    actions: { deny: false },
  });
  for (const [name, credit] of [
    ['Support bot', 250],
    ['Search', 80],
    ['Nightly batch', 40],
  ] as const)
    await ok(sluice, 'POST', '/api-keys/workspace/service', {
      key: ADMIN_KEY,
      body: {
        workspace_id: 'default',
        name,
        scopes: ['completions.write', 'logs.list'],
        usage_limits: { credit_limit: credit, type: 'cost', periodic_reset: 'monthly' },
      },
    });
  await ok(sluice, 'POST', '/admin/users/invites', {
    key: ADMIN_KEY,
    body: { email: 'ada@example.org', role: 'member' },
  });
  const entry = await chat(sluice, origin);
  return {
    logs: '/console/logs',
    entry: `/console/logs/${entry}`,
    analytics: '/console/analytics?from=30d',
    playground: '/console/playground',
    configs: '/console/configs',
    config: `/console/configs/${slug}`,
    prompts: '/console/prompts',
    prompt: `/console/prompts/${prompt.slug}`,
    providers: '/console/providers',
    guardrails: '/console/guardrails',
    keys: '/console/keys',
    budgets: '/console/budgets',
    policies: '/console/policies',
    people: '/console/people',
    audit: '/console/audit',
    settings: '/console/settings',
  };
}

/** Calls as they are made today, one of them by its second target. @returns the entry of that one */
async function chat(sluice: Sluice, origin: string): Promise<string> {
  const target = (model: string) => ({
    provider: 'openai',
    api_key: 'sk-made-up',
    custom_host: `${origin}/v1`,
    override_params: { model },
  });
  const config = { strategy: { mode: 'fallback' }, targets: [target('status-503'), target('gpt-5.2-mini')] };
  const { 'x-gateway-api-key': key = '' } = sluice.headers(1);
  const answer = await fetch(`${sluice.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-gateway-api-key': key,
      'x-gateway-config': JSON.stringify(config),
      'x-gateway-metadata': JSON.stringify({ _user: 'ada', team: 'support' }),
    },
    body: JSON.stringify({
      messages: [
        { role: 'system', content: 'You answer in one sentence.' },
        { role: 'user', content: 'Where is my parcel?' },
      ],
    }),
  });
  await answer.arrayBuffer();
  return answer.headers.get('x-gateway-request-id') ?? '';
}

async function pictures(
  page: Page,
  { origin }: Sluice,
  name: string,
  path: string,
  upstream: string,
): Promise<void> {
  if (options.readme && README[name] === undefined) return;
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(`${origin}${path}`);
  await page.waitForLoadState('networkidle', { timeout: 5000 }).catch(() => undefined);
  if (name === 'playground') await played(page, upstream);
  await sleep(500);
  for (const colorScheme of ['light', 'dark'] as const) {
    if (options.readme && README[name] !== colorScheme) continue;
    await page.emulateMedia({ colorScheme });
    const folder = options.readme ? README_FOLDER : options.folder;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({
      path: join(folder, options.readme ? `${name}.png` : `${name}-${colorScheme}.png`),
    });
  }
}

async function played(page: Page, upstream: string): Promise<void> {
  await page.getByLabel('Provider', { exact: true }).fill('openai');
  await page.getByLabel('Provider API key').fill('sk-made-up');
  await page.getByLabel('Base URL').fill(`${upstream}/v1`);
  await page.getByLabel('Model').fill('gpt-5.2-mini');
  await page.getByLabel('Message').fill('Write a greeting for a support bot.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('link', { name: 'Its entry in the log' }).waitFor();
}
