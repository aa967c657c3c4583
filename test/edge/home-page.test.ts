// GET / says where one is, and each of its links leads somewhere.
import test from 'ava';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

test('a browser gets a page whose links answer', async (t) => {
  const answer = await fetch(gateway.origin, { headers: { accept: 'text/html,*/*;q=0.8' } });
  const page = await answer.text();
  t.is(answer.status, 200);
  t.regex(answer.headers.get('content-type') ?? '', /^text\/html/);
  t.regex(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  t.regex(page, /<h1>Sluice \d+\.\d+\.\d+/);
  t.notRegex(page, /<script|https?:\/\//);
  t.false(page.includes(ADMIN_KEY) || page.includes(WORKSPACE_KEY));
  const links = [...page.matchAll(/href="([^"]+)"/g)].map((match) => match[1]!);
  t.true(links.length >= 6);
  for (const link of links) t.is((await fetch(gateway.origin + link)).status, 200, link);
});

test('a program that prefers JSON gets JSON', async (t) => {
  const answer = await fetch(gateway.origin, { headers: { accept: 'application/json' } });
  const json = (await answer.json()) as { readonly name: string; readonly base: string };
  t.is(json.name, 'Sluice');
  t.is(json.base, '/v1');
});

test('other verbs of / are nothing', async (t) => {
  t.is((await fetch(gateway.origin, { method: 'POST', body: '{}' })).status, 404);
  t.is((await fetch(gateway.origin, { method: 'HEAD' })).status, 200);
});
