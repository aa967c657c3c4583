// A browser for tests of the console: Debian's chromium where it is at hand, driven by playwright.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { buildConsole } from '../../src/build/console.ts';

const { isFresh, fingerprint } = createRequire(import.meta.url)('../../src/launch.cjs') as {
  isFresh(root: string): boolean;
  fingerprint(root: string): string;
};
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The program; undefined: there is none. */
export function chromiumPath(): string | undefined {
  return [process.env.CHROMIUM_PATH ?? '', ...PLACES].find((path) => path !== '' && existsSync(path));
}

/** How long the browser stays for a further test file. */
const REST_MS = 2000;
/** A lock that is older belongs to a process that was killed. */
const STALE_MS = 120_000;

/** Builds the console where the gateway of a checkout looks for it, once for all test files, unless it is built. */
export async function builtConsole(): Promise<void> {
  const [out, lock, note] = ['dist/console', '.cache/console.lock', '.cache/console.of'].map((name) =>
    join(ROOT, name),
  ) as [string, string, string];
  const of = fingerprint(ROOT);
  const isBuilt = (): boolean =>
    existsSync(out) && (isFresh(ROOT) || (existsSync(note) && readFileSync(note, 'utf8') === of));
  while (!isBuilt()) {
    if (!taken(lock)) {
      await sleep(100);
      continue;
    }
    try {
      if (isBuilt()) return;
      rmSync(note, { force: true });
      await buildConsole(ROOT, out);
      writeFileSync(note, of);
    } finally {
      rmSync(lock, { recursive: true, force: true });
    }
  }
}

/** Takes the lock, unless another process has it. */
function taken(lock: string): boolean {
  mkdirSync(join(lock, '..'), { recursive: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > STALE_MS) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

/** @param executablePath as chromiumPath says */
export function openBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
}

let current: Promise<Browser> | undefined;
let users = 0;
let leaving: NodeJS.Timeout | undefined;

/** The browser that all test files of this process use, one after the other. Released by each, it ends after the last. */
export async function sharedBrowser(
  executablePath: string,
): Promise<{ readonly browser: Browser; release(): void }> {
  clearTimeout(leaving);
  users++;
  current ??= openBrowser(executablePath);
  const browser = await current;
  const release = (): void => {
    if (--users === 0) leaving = setTimeout(leave, REST_MS);
  };
  return { browser, release };
}

function leave(): void {
  void current?.then((browser) => browser.close());
  current = undefined;
}

/** What a page did that it must not do: errors, words of the console of the browser, requests to strangers. */
export interface Watched {
  readonly page: Page;
  readonly faults: string[];
  readonly requests: { readonly url: string; readonly method: string }[];
}

export async function openPage(context: BrowserContext, origin: string): Promise<Watched> {
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  const requests: { url: string; method: string }[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // A refusal is told by the browser as well: it is what the page is about then.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) faults.push(message.text());
  });
  page.on('request', (request) => {
    requests.push({ url: request.url(), method: request.method() });
    if (!/^(?:data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin)
      faults.push(`asks a stranger: ${request.url()}`);
  });
  return { page, faults, requests };
}

/** Signs in where the page is. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
}
