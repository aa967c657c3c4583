// /docs over a real socket: what is served, and that nothing else is.
import type { AddressInfo } from 'node:net';
import test from 'ava';
import Koa from 'koa';
import { docs } from '../../src/edge/docs.ts';
import { htmlOf } from '../../src/edge/guides.ts';

async function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const app = new Koa();
  app.use(docs());
  app.use((ctx) => {
    ctx.status = 404;
    ctx.body = 'next';
  });
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, redirect: 'manual' });
    return new Response(response.body && (await response.bytes()), response);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test('/docs leads to /docs/', async (t) => {
  const { status, headers } = await get('/docs');
  t.is(status, 308);
  t.is(headers.get('location'), '/docs/');
});

test('the page loads its own files only', async (t) => {
  const response = await get('/docs/');
  const page = await response.text();
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^text\/html/);
  t.regex(response.headers.get('content-security-policy') ?? '', /default-src 'self'/);
  t.notRegex(response.headers.get('content-security-policy') ?? '', /script-src|unsafe-eval/);
  t.notRegex(page, /https?:\/\//);
  t.notRegex(page, /<script>|\son\w+=/);
  for (const [, name] of page.matchAll(/(?:src|href)="([^"/]+)"/g)) {
    const file = await get(`/docs/${name}`);
    t.is(file.status, 200, name);
    t.true((await file.bytes()).length > 100, name);
  }
});

test('the initializer loads the document of this machine', async (t) => {
  const script = await (await get('/docs/initializer.js')).text();
  t.regex(script, /url: '\/openapi\.json'/);
  t.notRegex(script, /https?:\/\//);
});

test('a guide is a page without scripts, under the same policy', async (t) => {
  const response = await get('/docs/security');
  const page = await response.text();
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^text\/html/);
  t.regex(response.headers.get('content-security-policy') ?? '', /default-src 'self'/);
  t.regex(page, /<h1 id="security-guide">Security guide<\/h1>/);
  t.regex(page, /<td><code>npm run chaos -- --only [a-z-]+<\/code><\/td>/);
  t.notRegex(page, /<script|<!--|\son\w+=/);
  t.is((await get('/docs/guide.css')).status, 200);
});

test('the index leads to every guide, and guides lead to each other', async (t) => {
  const index = await (await get('/docs/guides')).text();
  const names = [...index.matchAll(/<h2[^>]*><a href="([a-z-]+)">/g)].map((match) => match[1]!);
  t.true(names.length >= 15);
  t.deepEqual(names.slice(0, 2), ['quick-start', 'providers']);
  for (const name of names) {
    const page = await get(`/docs/${name}`);
    t.is(page.status, 200, name);
    t.regex(await page.text(), /<nav><a href="guides">/, name);
  }
  const start = await (await get('/docs/quick-start')).text();
  t.regex(start, /<a href="limits">/);
  t.notRegex(start, /\.md"/);
  const reference = await (await get('/docs/')).text();
  t.regex(reference, /<a href="guides">/);
});

test('HTML and other schemes in a guide are text and no links', (t) => {
  const page = htmlOf(
    '# A <b>\n\n<script>x()</script>\n\n[a](javascript:x) [b](https://e.org) <img src=x onerror=y>\n',
  );
  t.notRegex(page, /<script>|<img|<b>|javascript:/);
  t.regex(page, /&#60;script&#62;/);
  t.regex(page, /href="https:\/\/e\.org"/);
});

test('a file that the client has is not sent again', async (t) => {
  const etag = (await get('/docs/swagger-ui.css')).headers.get('etag') ?? '';
  const again = await get('/docs/swagger-ui.css', { 'if-none-match': etag, 'cache-control': 'max-age=0' });
  t.is(again.status, 304);
});

for (const path of [
  '/docs/package.json',
  '/docs/swagger-ui.js',
  '/docs/..%2fpackage.json',
  '/docs/%2e%2e/%2e%2e/package.json',
  '/docs/constructor',
  '/docs/security.md',
  '/docs/nothing',
  '/docs//etc/passwd',
  '/docsx',
]) {
  test(`${path} is none of its files`, async (t) => {
    const response = await get(path);
    t.is(response.status, 404);
    t.is(await response.text(), 'next');
  });
}
