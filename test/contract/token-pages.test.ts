// Pages of a list of models whose provider pages by tokens: by ids all the same, in Anthropic's shape and in OpenAI's.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import type { Json } from '../support/limits-client.ts';

const NAMES = ['m1', 'm2', 'm3', 'm4', 'm5'];
let gateway: TestGateway;
let server: http.Server;
let origin = '';
/** What the provider was asked since it was last looked at. */
let asked: string[] = [];
test.before(async () => {
  // Three models a page, whatever is asked for; a token that it did not give is a 400.
  server = http.createServer((req, res) => {
    const { pathname, searchParams: query } = new URL(req.url ?? '', 'http://x');
    asked.push(req.url ?? '');
    const token = query.get('pageToken') ?? query.get('page_token');
    if (token !== null && token !== 't3')
      return void res.writeHead(400).end('{"error":{"message":"bad token"}}');
    const names = token === null ? NAMES.slice(0, 3) : NAMES.slice(3);
    const next = token === null ? 't3' : '';
    const answer = pathname.startsWith('/v1beta')
      ? { models: names.map((name) => ({ name: `models/${name}` })), nextPageToken: next }
      : { models: names.map((name) => ({ name })), next_page_token: next };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway = await startGateway();
});
test.after.always(async () => {
  server?.close();
  await gateway?.close();
});

async function list(
  provider: string,
  query: string,
  version?: string,
): Promise<{ status: number; json: Json }> {
  const host = provider === 'google' ? `${origin}/v1beta` : origin;
  const answer = await fetch(`${gateway.origin}/v1/models${query}`, {
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-config': JSON.stringify({ provider, api_key: 'k', custom_host: host }),
      ...(version === undefined ? {} : { 'anthropic-version': version }),
    },
  });
  return { status: answer.status, json: (await answer.json()) as Json };
}

const idsOf = ({ data }: Json): unknown[] => (data as Json[]).map(({ id }) => id);

for (const provider of ['google', 'cohere']) {
  test.serial(`${provider}: in Anthropic's shape, forwards and back`, async (t) => {
    for (const [query, ids, hasMore] of [
      ['', NAMES, false],
      ['?limit=2', ['m1', 'm2'], true],
      ['?limit=2&after_id=m2', ['m3', 'm4'], true],
      ['?limit=2&after_id=m4', ['m5'], false],
      ['?limit=2&before_id=m4', ['m2', 'm3'], true],
      ['?before_id=m2', ['m1'], false],
    ] as const) {
      const { json } = await list(provider, query, '2023-06-01');
      t.deepEqual(idsOf(json), [...ids], `${query}: ${JSON.stringify(json)}`);
      t.like(json, { has_more: hasMore, first_id: ids[0], last_id: ids.at(-1)! }, query);
      t.deepEqual(Object.keys(json).sort(), ['data', 'first_id', 'has_more', 'last_id']);
    }
    t.is((await list(provider, '?after_id=none', '2023-06-01')).status, 400);
  });

  test.serial(`${provider}: in OpenAI's shape, all in few calls`, async (t) => {
    asked = [];
    const { json } = await list(provider, '');
    t.deepEqual(idsOf(json), NAMES);
    t.false('next_page_token' in json);
    t.deepEqual(
      asked.map((url) => /(?:pageSize|page_size)=1000/.test(url)),
      [true, true],
    );
    t.deepEqual(idsOf((await list(provider, '?after=m3&limit=1')).json), ['m4']);
  });
}
