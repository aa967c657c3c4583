// Measures the console in a browser, over a gateway of its own: node test/console/figures.ts [--only NAME[,NAME]]
// [--entries 5000000] [--folder DIR, kept with its entries]. Figures are printed beside what they are meant to be; of
// `entries` there are three: at first, the median of five more, the slowest of those, and the CPU that each took.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import type { RequestRecord } from '../../src/call/record.ts';
import { cpuSeconds } from '../bench/child.ts';
import { ADMIN_KEY, type Sluice, startSluice } from '../bench/sluice.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { builtConsole, chromiumPath, openBrowser, signIn } from './browser.ts';
import { ask, questions } from './entries.ts';
import { fillLog } from './fill-log.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    entries: { type: 'string', default: '5000000' },
    folder: { type: 'string' },
  },
});

/** What the parts work with. */
interface Lab {
  readonly sluice: Sluice;
  readonly page: Page;
  readonly upstreamPort: number;
}

const MB = 1024 * 1024;
/** Calls a second that a tail is measured at, and rounds with and without it. */
const RATE = 500;
const ROUNDS = 6;
const PARTS: Readonly<Record<string, (lab: Lab) => Promise<void>>> = {
  'first-load': firstLoad,
  rows: manyRows,
  tail,
  body: longBody,
  entries: manyEntries,
};

const WATCH_FRAMES = `(() => {
  window.frames_of = [];
  let last = performance.now();
  const next = (now) => { window.frames_of.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next);
})()`;

await main();

async function main(): Promise<void> {
  const program = chromiumPath();
  if (program === undefined)
    throw new Error('there is no chromium: apt-get install chromium, or CHROMIUM_PATH');
  const wanted = options.only?.split(',') ?? Object.keys(PARTS);
  const unknown = wanted.filter((name) => PARTS[name] === undefined);
  if (unknown.length > 0) throw new Error(`--only: ${unknown.join()}: there is ${Object.keys(PARTS).join()}`);
  await builtConsole();
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'sluice-figures-'));
  const browser = await openBrowser(program);
  try {
    for (const name of wanted) {
      const entries = { rows: 100_000, entries: Number(options.entries) }[name] ?? 0;
      await part(browser, join(folder, name), entries, PARTS[name] as (lab: Lab) => Promise<void>);
    }
  } finally {
    await browser.close();
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function part(
  browser: Browser,
  folder: string,
  entries: number,
  measure: (lab: Lab) => Promise<void>,
): Promise<void> {
  if (entries > 0) await fillLog(folder, entries, streamed);
  const upstream = await startFakeProvider();
  const sluice = await startSluice(tmpdir(), undefined, {
    GATEWAY_LOG_BODIES: 'full',
    ...(entries > 0 ? { GATEWAY_DATA_DIR: folder } : {}),
  });
  if (entries > 0) await settled(sluice);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(`${sluice.origin}/console/settings`);
    await signIn(page, ADMIN_KEY);
    await measure({ sluice, page, upstreamPort: Number(new URL(upstream.origin).port) });
  } finally {
    await context.close();
    await sluice.child.stop();
    await upstream.close();
    rmSync(sluice.dataDir, { recursive: true, force: true });
  }
}

/** Streams have a time to first token. */
function streamed(entry: RequestRecord): RequestRecord {
  return entry.streamed ? { ...entry, timeToFirstTokenMs: entry.latencyMs / 4 } : entry;
}

/** What was written in seconds, and not over weeks, is put in shape first. */
async function settled({ origin }: Sluice): Promise<void> {
  for (let quick = 0; quick < 3; await sleep(500)) {
    const since = performance.now();
    const { ok } = await fetch(`${origin}/v1/logs`, { headers: { 'x-gateway-api-key': ADMIN_KEY } });
    quick = ok && performance.now() - since < 1000 ? quick + 1 : 0;
  }
}

function told(what: string, figure: string, wanted: string): void {
  console.log(`${what.padEnd(58)} ${figure.padStart(14)}   wanted ${wanted}`);
}

async function firstLoad(lab: Lab): Promise<void> {
  for (let i = 0; i < 100; i++) await call(lab, `figures-${i}`);
  const { page, sluice } = lab;
  let bytes = 0;
  let calls = 0;
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  session.on('Network.requestWillBeSent', () => calls++);
  session.on('Network.dataReceived', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    await page.goto('about:blank');
    bytes = 0;
    calls = 0;
    const since = performance.now();
    await page.goto(`${sluice.origin}/console/logs`);
    await page.getByRole('table', { name: 'Logs' }).getByRole('link').first().waitFor();
    times.push(performance.now() - since);
  }
  told('first load: rows are seen (median of 5)', ms(median(times)), '1,000 ms');
  told('first load: calls', String(calls), '12');
  told('first load: bytes', `${Math.round(bytes / 1024)} KB`, '120 KB');
}

async function manyRows({ page, sluice }: Lab): Promise<void> {
  await page.goto(`${sluice.origin}/console/logs`);
  await page.getByRole('table', { name: 'Logs' }).getByRole('link').first().waitFor();
  await page.evaluate(WATCH_FRAMES);
  const seen = (await page.evaluate(`(async () => {
    const box = document.querySelector('section.rows');
    const table = box.querySelector('table');
    let rows = 0;
    let nodes = 0;
    const until = performance.now() + 240000;
    while (rows < 100000 && performance.now() < until) {
      box.scrollTop += 3000;
      await new Promise(requestAnimationFrame);
      nodes = Math.max(nodes, table.querySelectorAll('tbody tr').length);
      rows = Number(table.getAttribute('aria-rowcount')) - 1;
    }
    window.frames_of.length = 0;
    for (let i = 0; i < 600; i++) {
      box.scrollTop = (i % 2 ? 1 : 0.5) * box.scrollHeight * ((i % 100) / 100);
      await new Promise(requestAnimationFrame);
      nodes = Math.max(nodes, table.querySelectorAll('tbody tr').length);
    }
    return { rows, nodes };
  })()`)) as { rows: number; nodes: number };
  told('rows that are in the list', String(seen.rows), '100,000');
  told('100,000 rows: rows in the page at once', String(seen.nodes), '100');
  told('100,000 rows: p95 of frames while scrolling', ms(await frame(page, 0.95)), '34 ms');
}

async function tail(lab: Lab): Promise<void> {
  const { page, sluice } = lab;
  await page.goto(`${sluice.origin}/console/logs`);
  await page.getByRole('region', { name: 'First call' }).waitFor();
  const waits: number[] = [];
  for (let i = 0; i < 10; i++) {
    const since = performance.now();
    await call(lab, `live-${i}`);
    await page.getByText(`${i + 1} entries`).waitFor();
    waits.push(performance.now() - since);
  }
  told('a live row is seen (slowest of 10)', ms(Math.max(...waits)), '1,000 ms');
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await sleep(10_000);
  told('calls of an idle page in 10 s', String(requests.length), '0');
  const costs = await tailCosts(lab);
  const shown = [Math.min(...costs), median(costs)].map((share) => `${(share * 100).toFixed(1)} %`);
  told('a tail at 500 calls a second: share of a core (min, median)', shown.join(' '), '2 %');
  await page.goto(`${sluice.origin}/console/logs`);
  await page.evaluate(WATCH_FRAMES);
  await load(lab, 10_000);
  told('a tail at 500 calls a second: p95 of frames', ms(await frame(page, 0.95)), '34 ms');
}

/** What a page that reads along takes of a core, in alternating rounds of 500 calls a second with and without it. */
async function tailCosts(lab: Lab): Promise<readonly number[]> {
  await load(lab, 5000);
  const costs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const isFirst = round % 2 === 0;
    const [one, other] = [await callCost(lab, isFirst), await callCost(lab, !isFirst)];
    costs.push((isFirst ? one - other : other - one) * RATE);
  }
  return costs;
}

/** CPU seconds of the gateway for each call: a machine with other work to do may not make as many as are meant. */
async function callCost(lab: Lab, isRead: boolean): Promise<number> {
  const { page, sluice } = lab;
  await page.goto(isRead ? `${sluice.origin}/console/logs` : 'about:blank');
  await load(lab, 1000);
  const before = cpuSeconds(sluice.child.pid);
  const made = await load(lab, 8000);
  return (cpuSeconds(sluice.child.pid) - before) / made;
}

/** 500 calls a second. @returns how many were made @throws Error when more than one in a hundred fails */
async function load(lab: Lab, forMs: number): Promise<number> {
  let failed = 0;
  const since = performance.now();
  const made: Promise<void>[] = [];
  for (let i = 0; performance.now() - since < forMs; i++) {
    // A connection that lay idle may be closed while a call begins on it.
    made.push(
      call(lab, 'tail').catch(() => {
        failed++;
      }),
    );
    const ahead = (i * 1000) / RATE - (performance.now() - since);
    if (ahead > 2) await sleep(ahead);
  }
  await Promise.all(made);
  if (failed > made.length / 100) throw new Error(`${failed} of ${made.length} calls failed`);
  return made.length - failed;
}

async function longBody(lab: Lab): Promise<void> {
  const { page, sluice } = lab;
  await call(lab, 'long', `${'word '.repeat(4 * MB)}`.slice(0, 19 * MB));
  const { data } = (await (
    await fetch(`${sluice.origin}/v1/logs`, { headers: { 'x-gateway-api-key': ADMIN_KEY } })
  ).json()) as { data: { id: string }[] };
  await page.goto(`${sluice.origin}/console/logs`);
  await page.getByRole('table', { name: 'Logs' }).getByRole('link').first().waitFor();
  await page.evaluate(WATCH_FRAMES);
  const since = performance.now();
  await page.getByRole('table', { name: 'Logs' }).getByRole('link').first().click();
  await page.getByRole('region', { name: 'Request' }).getByText('folded').waitFor();
  told(`a body of 19 MB is shown (${data[0]?.id ?? ''})`, ms(performance.now() - since), 'no bound');
  for (let i = 0; i < 5; i++) await page.getByRole('button', { name: 'Show more' }).first().click();
  told('a body of 19 MB: longest frame', ms(await frame(page, 1)), '200 ms');
}

async function manyEntries({ page, sluice }: Lab): Promise<void> {
  for (const [name, path, params] of questions()) {
    const { first, median: usual, slowest, cpu, note } = await ask(sluice, name, path, params);
    const figure = [first, usual, slowest].map((value) => value.toFixed(0)).join(' / ');
    told(name.slice(0, 58), `${figure} ms`, `1,000 ms   CPU ${cpu.toFixed(0)} ms, ${note}`);
  }
  for (const from of ['30d', '7d']) {
    const since = performance.now();
    await page.goto(`${sluice.origin}/console/analytics?from=${from}`);
    await page.getByRole('table', { name: 'By model' }).waitFor();
    told(`${options.entries} entries: all figures of ${from}, first`, ms(performance.now() - since), '');
    const again: number[] = [];
    for (let i = 0; i < 5; i++) {
      const begin = performance.now();
      await page.goto(`${sluice.origin}/console/analytics?from=${from}&by=model`);
      await page.getByRole('table', { name: 'By model' }).waitFor();
      again.push(performance.now() - begin);
    }
    told(`${options.entries} entries: all figures of ${from} (median)`, ms(median(again)), '1,000 ms');
  }
}

async function frame(page: Page, share: number): Promise<number> {
  const frames = (await page.evaluate('window.frames_of')) as number[];
  const sorted = frames.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function call({ sluice, upstreamPort }: Lab, model: string, content = 'hi'): Promise<void> {
  const answer = await fetch(`${sluice.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...sluice.headers(upstreamPort), 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`a call failed with ${answer.status}`);
}

function median(of: readonly number[]): number {
  return of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? Number.NaN;
}

function ms(value: number): string {
  return `${value.toFixed(value < 100 ? 1 : 0)} ms`;
}
