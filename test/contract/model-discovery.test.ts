// Discovery of models: OpenAI's list, and Anthropic's for its clients; both have pages, and show what may be used.
import { inspect } from 'node:util';
import test from 'ava';
import { ModelsService } from '../../gen/gateway/inference/v2/models_pb.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, exchange, type JsonObject, PROTOCOLS, type Protocol, startBench } from './runner.ts';

const { listModels, getModel } = ModelsService.method;
const NOTHING = {
  'x-gateway-provider': undefined,
  'x-gateway-custom-host': undefined,
  authorization: undefined,
};
const VERSION = { 'anthropic-version': '2023-06-01' };

let bench: Bench;
test.before(async () => {
  bench = await startBench();
  for (const [slug, provider, models] of [
    ['ours', 'anthropic', ['a1', 'a2', 'a3', 'a4', 'a5']],
    ['narrow', 'openai', ['gpt-ok']],
    ['shut', 'openai', ['gpt-other']],
  ] as const) {
    await made('POST', '/integrations', {
      name: slug,
      slug,
      ai_provider_id: provider,
      key: 'sk-kept-by-the-gateway-0123456789',
      configurations: { custom_host: `${bench.provider.origin}/${slug}` },
    });
    await made('PUT', `/integrations/${slug}/workspaces`, { workspaces: [{ id: 'default', enabled: true }] });
    await made('PUT', `/integrations/${slug}/models`, {
      allow_all_models: false,
      models: models.map((name) => ({ slug: name, enabled: true, is_custom: true })),
    });
  }
});
test.after.always(() => bench?.close());

async function made(verb: string, path: string, body: JsonObject): Promise<void> {
  const response = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`${verb} ${path}: ${await response.text()}`);
}

async function asked(
  protocol: Protocol,
  body: JsonObject,
  given: Readonly<Record<string, string | undefined>>,
  method: typeof listModels | typeof getModel = listModels,
) {
  const headers = { ...NOTHING, 'x-gateway-api-key': WORKSPACE_KEY, ...given };
  const { json, error, status } = await exchange(bench, { method, body, headers }, protocol);
  const data = (json.data ?? []) as JsonObject[];
  return { json, error, status, data, ids: data.map(({ id }) => String(id)) };
}

const OURS = ['@ours/a1', '@ours/a2', '@ours/a3', '@ours/a4', '@ours/a5'];
const own = { ...VERSION, 'x-gateway-provider': '@ours', 'x-gateway-fetch-integrated-models': 'true' };

for (const protocol of PROTOCOLS) {
  test(`Anthropic's clients are answered in Anthropic's shape [${protocol}]`, async (t) => {
    const { json, data, ids } = await asked(protocol, {}, own);
    t.deepEqual(ids, OURS);
    t.like(json, { has_more: false, first_id: '@ours/a1', last_id: '@ours/a5' });
    t.like(data[0], {
      type: 'model',
      id: '@ours/a1',
      display_name: '@ours/a1',
      created_at: '1970-01-01T00:00:00Z',
    });
    if (protocol !== 'rest') return;
    t.deepEqual(Object.keys(json).sort(), ['data', 'first_id', 'has_more', 'last_id']);
    t.false('object' in data[0]!);
  });

  test(`Anthropic's pages, forwards and back [${protocol}]`, async (t) => {
    const first = await asked(protocol, { limit: 2 }, own);
    t.deepEqual(first.ids, OURS.slice(0, 2));
    t.like(first.json, { has_more: true, first_id: OURS[0]!, last_id: OURS[1]! });
    const second = await asked(protocol, { limit: 2, after_id: OURS[1]! }, own);
    t.deepEqual(second.ids, OURS.slice(2, 4));
    t.true(second.json.has_more);
    const last = await asked(protocol, { limit: 2, after_id: OURS[3]! }, own);
    t.deepEqual(last.ids, OURS.slice(4));
    t.false(last.json.has_more);
    const back = await asked(protocol, { limit: 2, before_id: OURS[3]! }, own);
    t.deepEqual(back.ids, OURS.slice(1, 3));
    t.true(back.json.has_more);
    const start = await asked(protocol, { limit: 9, before_id: OURS[1]! }, own);
    t.deepEqual(start.ids, OURS.slice(0, 1));
    t.false(start.json.has_more);
  });

  test(`OpenAI's pages take the same members [${protocol}]`, async (t) => {
    const { ids, json } = await asked(
      protocol,
      { limit: 2, after: OURS[0]! },
      { ...own, 'anthropic-version': undefined },
    );
    t.deepEqual(ids, OURS.slice(1, 3));
    t.like(json, { object: 'list', has_more: true });
    t.false('first_id' in json);
  });

  test(`what cannot be a page is refused [${protocol}]`, async (t) => {
    const pages: readonly JsonObject[] = [
      { limit: 0 },
      { limit: 1001 },
      { after_id: '@ours/none' },
      { before_id: '@ours/none' },
      { after_id: OURS[0]!, before_id: OURS[3]! },
      { after: OURS[0]!, after_id: OURS[1]! },
      { after_id: '' },
    ];
    for (const body of pages) {
      const { error } = await asked(protocol, body, own);
      t.truthy(error, JSON.stringify(body));
    }
  });

  test(`one model in both shapes, and none that is not allowed [${protocol}]`, async (t) => {
    const narrow = { 'x-gateway-provider': '@narrow' };
    const plain = await asked(protocol, { model: 'gpt-ok' }, narrow, getModel);
    t.like(plain.json, { id: 'gpt-ok', object: 'model', created: 1, owned_by: 'fake' });
    const shaped = await asked(protocol, { model: 'gpt-ok' }, { ...narrow, ...VERSION }, getModel);
    t.like(shaped.json, {
      type: 'model',
      id: 'gpt-ok',
      display_name: 'gpt-ok',
      created_at: '1970-01-01T00:00:01Z',
    });
    const slug = await asked(protocol, { model: '@narrow/gpt-ok' }, VERSION, getModel);
    t.is(slug.json.type, 'model');
    for (const model of ['gpt-5', '@narrow/gpt-5']) {
      const { error } = await asked(protocol, { model }, model.startsWith('@') ? {} : narrow, getModel);
      t.truthy(error, model);
    }
  });

  test.serial(
    `a provider's pages count what is left out: those that are left get pages of their own [${protocol}]`,
    async (t) => {
      const { provider } = bench;
      const ids = ['no-1', 'a1', 'no-2', 'a2', 'no-3'];
      const answer = (from: number, limit: number): string => {
        const data = ids.slice(from, from + limit).map((id) => ({ type: 'model', id, display_name: id }));
        return JSON.stringify({
          data,
          has_more: from + limit < ids.length,
          last_id: data.at(-1)?.id ?? null,
        });
      };
      const page = async (body: JsonObject) => {
        for (let i = 0; i < 2; i++)
          provider.next('/ours/models', (req, res) => {
            const query = new URL(req.url ?? '', 'http://x').searchParams;
            const from = ids.indexOf(query.get('after_id') ?? '') + 1;
            res.writeHead(200, { 'content-type': 'application/json' });
            res.end(answer(from, Number(query.get('limit') ?? 20)));
          });
        return asked(protocol, body, { ...VERSION, 'x-gateway-provider': '@ours' });
      };
      const first = await page({ limit: 1 });
      t.deepEqual(first.ids, ['a1']);
      t.like(first.json, { has_more: true, last_id: 'a1' });
      const last = await page({ limit: 1, after_id: 'a1' });
      t.deepEqual(last.ids, ['a2']);
      t.falsy(last.json.has_more);
    },
  );

  test.serial(
    `an id that is none of a provider's list is named, and an odd date is no failure [${protocol}]`,
    async (t) => {
      const narrow = { 'x-gateway-provider': '@narrow' };
      const { error } = await asked(protocol, { after_id: 'none' }, { ...VERSION, ...narrow });
      t.regex(inspect(error, { depth: 4 }), /after_id: names no model/);
      for (const created of [9e15, 1e18, -5, 'soon']) {
        bench.provider.next('/narrow/models', (_req, res) => {
          const data = [{ id: 'gpt-ok', object: 'model', created, owned_by: 'x' }];
          res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }));
        });
        const { data, status } = await asked(protocol, {}, { ...VERSION, ...narrow });
        t.like(data[0], { id: 'gpt-ok', created_at: '1970-01-01T00:00:00Z' }, `${status}`);
      }
    },
  );

  test(`a provider's list leaves out what is not allowed [${protocol}]`, async (t) => {
    t.deepEqual((await asked(protocol, {}, { 'x-gateway-provider': '@narrow' })).ids, ['gpt-ok']);
    t.deepEqual((await asked(protocol, {}, { 'x-gateway-provider': '@shut' })).ids, []);
    const { json } = await asked(protocol, {}, { 'x-gateway-provider': '@shut', ...VERSION });
    if (protocol === 'rest') t.deepEqual(json, { data: [], has_more: false, first_id: null, last_id: null });
  });
}
