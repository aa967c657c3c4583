// The published npm SDK against the gateway: what its options, one for each header of the gateway, bring about.
import type { ServerResponse } from 'node:http';
import test from 'ava';
import OpenAI from 'openai';
import { createHeaders } from 'portkey-ai';
import { type Options, type Stage, startStage } from './portkey/clients.ts';

let stage: Stage;
test.before(async () => {
  stage = await startStage();
});
test.after.always(() => stage?.close());

const CONTENT = 'Hello, wörld! 👋';
const messages = [{ role: 'user' as const, content: 'hi' }];
let count = 0;

/** Options for a call to the provider, at a path of its own. */
function openai(more: Options = {}): {
  readonly options: Options;
  readonly sent: () => Stage['provider']['seen'];
} {
  const prefix = `/options-${++count}`;
  return {
    options: {
      provider: 'openai',
      Authorization: 'sk-of-the-caller',
      customHost: stage.provider.origin + prefix,
      ...more,
    },
    sent: () => stage.provider.seen.filter(({ url }) => url.startsWith(`${prefix}/`)),
  };
}

const chat = (options: Options, model = 'gpt-ok') =>
  stage.client(options).chat.completions.create({ model, messages });
const contentOf = (answer: Awaited<ReturnType<typeof chat>>): unknown => answer.choices[0]?.message?.content;
const headersOf = (answer: {
  getHeaders(): Record<string, string> | null | undefined;
}): Record<string, string> => answer.getHeaders() ?? {};

interface Refusal {
  readonly status?: number;
  readonly error?: { readonly error: { readonly code: string; readonly param: string | null } };
}

test('apiKey', async (t) => {
  const { options } = openai({ apiKey: 'slk_wrong' });
  const error = (await t.throwsAsync(async () => chat(options))) as Refusal;
  t.is(error.status, 401);
  t.is(contentOf(await chat({ ...options, apiKey: stage.workspaceKey })), CONTENT);
});

test('provider, Authorization and customHost', async (t) => {
  const { options, sent } = openai();
  const answer = await chat(options);
  t.is(contentOf(answer), CONTENT);
  t.is(sent()[0]?.headers.authorization, 'Bearer sk-of-the-caller');
  for (const name of Object.keys(sent()[0]?.headers ?? {})) t.notRegex(name, /^x-(portkey|gateway)-/);
  t.like(headersOf(answer), {
    provider: 'openai',
    'last-used-option-index': 'config',
    'cache-status': 'DISABLED',
  });
});

test('provider and virtualKey of what is stored', async (t) => {
  const { slug } = await stage.workspace.virtualKeys.create({
    name: 'stored',
    provider: 'openai',
    key: 'sk-that-is-stored',
  });
  const prefix = `/options-${++count}`;
  const integration = await stage.admin.integrations.create({
    name: 'i',
    slug: 'options-integration',
    ai_provider_id: 'openai',
    key: 'sk-of-the-integration',
    workspace_id: stage.workspaceId,
    configurations: { custom_host: stage.provider.origin + prefix },
  });
  t.truthy(slug);
  for (const options of [{ provider: `@${integration.slug}` }, { virtualKey: integration.slug as string }]) {
    t.is(contentOf(await chat(options)), CONTENT);
    const seen = stage.provider.seen.filter(({ url }) => url.startsWith(prefix)).at(-1);
    t.is(seen?.headers.authorization, 'Bearer sk-of-the-integration');
  }
  const models = (await stage.client().models.list()) as unknown as { data: { id: string }[] };
  t.true(models.data.some(({ id }) => id === '@options-integration/gpt-4o-mini'));
  const model = `@${integration.slug}/gpt-ok`;
  t.is(contentOf(await chat({}, model)), CONTENT);
});

test('config, as an object and by its slug', async (t) => {
  const { options, sent } = openai();
  const config = { retry: { attempts: 2, on_status_codes: [429] } };
  const inline = await chat({ ...options, config }, 'flaky-1-inline');
  t.is(contentOf(inline), CONTENT);
  t.is(sent().length, 2);
  t.is(headersOf(inline)['retry-attempt-count'], '1');
  const { slug } = await stage.workspace.configs.create({ name: 'saved', config });
  t.is(contentOf(await chat({ ...options, config: String(slug) }, 'flaky-1-saved')), CONTENT);
  t.is(sent().length, 4);
});

test('options of one call count, and stay for the next', async (t) => {
  const { options, sent } = openai();
  const sdk = stage.client();
  const body = { model: 'gpt-ok', messages };
  t.is(contentOf(await sdk.chat.completions.create(body, options)), CONTENT);
  t.is(contentOf(await sdk.chat.completions.create(body)), CONTENT);
  t.is(sent().length, 2);
});

test('traceID and traceId', async (t) => {
  const { options } = openai();
  for (const named of [{ traceID: 'trace-one' }, { traceId: 'trace-two' }]) {
    const [trace] = Object.values(named);
    t.is(headersOf(await chat({ ...options, ...named }))['trace-id'], trace);
    t.is((await stage.admin.get(`/logs?trace_id=${trace}`)).total, 1);
  }
  const made = headersOf(await chat(options));
  t.truthy(made['trace-id']);
  t.truthy(made['request-id']);
});

test('metadata', async (t) => {
  const { options } = openai({ traceID: 'trace-metadata' });
  await chat({ ...options, metadata: { _user: 'ann', teamName: 'blue' } });
  const { data } = await stage.admin.get('/logs?trace_id=trace-metadata');
  t.deepEqual(data[0].metadata, { _user: 'ann', teamName: 'blue' });
});

test('cacheForceRefresh and cacheNamespace', async (t) => {
  const { options, sent } = openai({ config: { cache: { mode: 'simple', max_age: 100 } } });
  const ask = async (more: Options): Promise<string | undefined> =>
    headersOf(await chat({ ...options, ...more }))['cache-status'];
  t.is(await ask({}), 'MISS');
  t.is(await ask({}), 'HIT');
  t.is(await ask({ cacheForceRefresh: false }), 'HIT');
  t.is(await ask({ cacheForceRefresh: true }), 'REFRESH');
  t.is(await ask({ cacheNamespace: 'mine' }), 'MISS');
  t.is(await ask({ cacheNamespace: 'mine', metadata: { any: 'thing' } }), 'HIT');
  t.is(sent().length, 3);
});

test('requestTimeout', async (t) => {
  const { options } = openai({ requestTimeout: 50 });
  const error = (await t.throwsAsync(async () => chat(options, 'hang'))) as Refusal;
  t.is(error.status, 408);
});

test('forwardHeaders', async (t) => {
  const { options, sent } = openai({
    forwardHeaders: ['x-of-the-caller'],
    'x-of-the-caller': 'kept',
    'x-other': 'dropped',
  });
  await chat(options);
  t.is(sent()[0]?.headers['x-of-the-caller'], 'kept');
  t.false(Object.keys(sent()[0]?.headers ?? {}).some((name) => name.includes('x-other')));
});

test('the first cloud’s own headers', async (t) => {
  const prefix = `/options-${++count}`;
  const azure = {
    provider: 'azure-openai',
    Authorization: 'az-key',
    azureApiVersion: '2024-10-21',
    azureDeploymentId: 'my-deployment',
    azureModelName: 'gpt-4o',
  };
  t.is(contentOf(await chat({ ...azure, customHost: stage.provider.origin + prefix })), CONTENT);
  const sent = stage.provider.seen.find(({ url }) => url.startsWith(`${prefix}/`));
  t.is(sent?.url, `${prefix}/deployments/my-deployment/chat/completions?api-version=2024-10-21`);
  t.is(sent?.headers['api-key'], 'az-key');
  const error = (await t.throwsAsync(async () =>
    chat({ ...azure, azureResourceName: 'no/host' }),
  )) as Refusal;
  t.is(error.status, 400);
  t.is(error.error?.error.param, 'x-gateway-azure-resource-name');
});

const json = (value: object) => (_: unknown, res: ServerResponse) =>
  void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));

test('the second cloud’s own headers', async (t) => {
  const prefix = `/options-${++count}`;
  const path = `${prefix}/v1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash:generateContent`;
  const content = { role: 'model', parts: [{ text: CONTENT }] };
  stage.provider.next(path, json({ candidates: [{ content, finishReason: 'STOP' }] }));
  const options = {
    provider: 'vertex-ai',
    Authorization: 'token-of-the-caller',
    vertexProjectId: 'p',
    vertexRegion: 'us-central1',
    customHost: stage.provider.origin + prefix,
  };
  t.is(contentOf(await chat(options, 'gemini-2.5-flash')), CONTENT);
  const sent = stage.provider.seen.find(({ url }) => url === path);
  t.is(sent?.headers.authorization, 'Bearer token-of-the-caller');
});

test('the third cloud’s own headers', async (t) => {
  const prefix = `/options-${++count}`;
  const path = `${prefix}/model/amazon.nova-lite-v1%3A0/converse`;
  const output = { message: { role: 'assistant', content: [{ text: CONTENT }] } };
  stage.provider.next(
    path,
    json({ output, stopReason: 'end_turn', usage: { inputTokens: 1, outputTokens: 1 } }),
  );
  const options = {
    provider: 'bedrock',
    awsAccessKeyId: 'AKIA',
    awsSecretAccessKey: 's',
    awsSessionToken: 't',
    awsRegion: 'eu-west-1',
    customHost: stage.provider.origin + prefix,
  };
  t.is(contentOf(await chat(options, 'amazon.nova-lite-v1:0')), CONTENT);
  const sent = stage.provider.seen.find(({ url }) => url === path);
  t.regex(
    String(sent?.headers.authorization),
    /^AWS4-HMAC-SHA256 Credential=AKIA\/\d{8}\/eu-west-1\/bedrock\//,
  );
  t.is(sent?.headers['x-amz-security-token'], 't');
});

test('a base that ends in a slash', async (t) => {
  const { options } = openai();
  const sdk = stage.client({ ...options, baseURL: `${stage.gateway.origin}/v1/` });
  t.is(contentOf(await sdk.chat.completions.create({ model: 'gpt-ok', messages })), CONTENT);
  const admin = stage.client({ apiKey: stage.workspaceKey, baseURL: `${stage.gateway.origin}/v1/` });
  t.is((await admin.configs.list()).object as unknown, 'list');
});

test('streams, and the transport of the openai library inside', async (t) => {
  const { options, sent } = openai();
  const sdk = stage.client(options);
  let text = '';
  const stream = await sdk.chat.completions.create({ model: 'gpt-ok', messages, stream: true });
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
  t.is(text, CONTENT);
  const embedded = await sdk.embeddings.create({ model: 'embed', input: 'a' });
  t.is(embedded.data?.[0]?.embedding?.length, 3);
  const completed = await sdk.completions.create({ model: 'gpt-ok', prompt: 'a' });
  t.is(completed.choices?.[0]?.text, CONTENT);
  const moderated = await sdk.moderations.create({ input: 'x' });
  t.true(moderated.results[0]?.flagged);
  const models = (await sdk.models.list()) as unknown as { data: { id: string }[] };
  t.is(models.data[0]?.id, 'gpt-ok');
  for (const { headers } of sent()) t.is(headers.authorization, 'Bearer sk-of-the-caller');
});

test('the openai library inside sends the gateway’s key as a bearer, and it stays here', async (t) => {
  const prefix = `/options-${++count}`;
  const sdk = stage.client({
    provider: 'openai-compatible',
    customHost: stage.provider.origin + prefix,
  });
  const models = (await sdk.models.list()) as unknown as { data: { id: string }[] };
  t.is(models.data[0]?.id, 'gpt-ok');
  const streamed = await sdk.chat.completions.stream({ model: 'gpt-ok', messages });
  t.is((await streamed.finalChatCompletion()).choices[0]?.message.content, CONTENT);
  stage.provider.next(`${prefix}/files`, (req, res, body) => {
    t.regex(String(req.headers['content-type']), /^multipart\/form-data; boundary=/);
    t.true(body.toString().includes('line one'));
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"file-1","object":"file"}');
  });
  const file = await sdk.files.create({ file: new File(['line one'], 'a.jsonl'), purpose: 'batch' });
  t.is(file.id, 'file-1');
  const sent = stage.provider.seen.filter(({ url }) => url.startsWith(`${prefix}/`));
  t.is(sent.length, 3);
  for (const { headers } of sent) t.is(headers.authorization, undefined);
});

test('its createHeaders beside the openai library of one’s own', async (t) => {
  const { options, sent } = openai();
  const { Authorization, ...more } = options;
  const own = new OpenAI({
    baseURL: `${stage.gateway.origin}/v1`,
    apiKey: String(Authorization),
    maxRetries: 0,
    defaultHeaders: createHeaders({ apiKey: stage.workspaceKey, ...more, traceID: 'trace-own' }),
  });
  const { data, response } = await own.chat.completions.create({ model: 'gpt-ok', messages }).withResponse();
  t.is(data.choices[0]?.message.content, CONTENT);
  t.is(response.headers.get('x-portkey-trace-id'), 'trace-own');
  t.is(sent()[0]?.headers.authorization, 'Bearer sk-of-the-caller');
});

test('a caller under the gateway’s own prefix keeps its shapes', async (t) => {
  const refused = async (prefix: string): Promise<string[]> => {
    const answer = await fetch(`${stage.gateway.origin}/v1/configs/absent`, {
      headers: { [`${prefix}api-key`]: stage.workspaceKey },
    });
    t.is(answer.status, 404);
    t.truthy(answer.headers.get(`${prefix}request-id`));
    return Object.keys((await answer.json()) as object);
  };
  t.deepEqual(await refused('x-gateway-'), ['success', 'data', 'error']);
  t.deepEqual(await refused('x-portkey-'), ['success', 'data', 'message', 'error']);
});
