// Running and rendering prompts over every protocol.

import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { ApiKeysService } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { LabelsService } from '../../gen/gateway/admin/v2/labels_pb.ts';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { PromptPartialsService } from '../../gen/gateway/admin/v2/prompt_partials_pb.ts';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { RateLimitPoliciesService } from '../../gen/gateway/admin/v2/rate_limit_policies_pb.ts';
import { VirtualKeysService } from '../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { PromptCompletionsService } from '../../gen/gateway/inference/v2/prompts_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, type JsonObject, PROVIDER_KEY, startBench } from './runner.ts';
import { Caller, refusedOf, storiesOf } from './story.ts';

const { createPrompt, updatePrompt, publishPrompt, updatePromptVersion, deletePrompt, renderPrompt } =
  PromptsService.method;
const { createPromptPartial, updatePromptPartial, publishPromptPartial, deletePromptPartial } =
  PromptPartialsService.method;
const { createPromptCompletion } = PromptCompletionsService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench({ GATEWAY_HEADER_PREFIXES: 'x-gateway-,x-portkey-' });
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);
const MESSAGES = JSON.stringify([
  { role: 'system', content: 'Be {{tone}}.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Look: {{q}}' },
      { type: 'image_url', image_url: { url: '{{image}}' } },
    ],
  },
]);
const VARIABLES = { q: 'say "hi"\\', image: 'https://example.com/i.png' };
const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };

const newPrompt = async (
  admin: Caller,
  more: JsonObject = {},
): Promise<{ slug: string; version: string }> => {
  const { slug, version_id: version } = await admin.ok(createPrompt, {
    name: 'Run me',
    string: MESSAGES,
    model: 'gpt-4o-mini',
    parameters: { temperature: 0.5, max_tokens: 50, tone: 'kind' },
    ...more,
  });
  return { slug: String(slug), version: String(version) };
};

/** Runs a prompt with the caller's own provider. */
async function run(caller: Caller, body: JsonObject, headers: Record<string, string | undefined> = {}) {
  const prefix = bench.mark();
  const outcome = await caller.exchange(
    createPromptCompletion,
    body,
    { authorization: `Bearer ${PROVIDER_KEY}`, ...headers },
    prefix,
  );
  const sent = bench
    .sentTo(prefix)
    .map(({ url, body: bytes }) => ({ url, json: JSON.parse(bytes.toString()) }));
  return { ...outcome, sent };
}

async function sentBy(t: ExecutionContext, caller: Caller, body: JsonObject): Promise<JsonObject> {
  const { error, sent } = await run(caller, body);
  t.is(error, undefined, JSON.stringify(error));
  return sent[0]!.json as JsonObject;
}

story('a prompt is filled in and run, in the envelope of the specification', async (t, admin) => {
  const user = admin.as(WORKSPACE_KEY);
  const { slug } = await newPrompt(admin, { tools: [TOOL], tool_choice: 'auto' });
  const { json, sent, error } = await run(user, {
    prompt_id: slug,
    variables: VARIABLES,
    temperature: 0.9,
    seed: 7,
    reasoning_effort: 'low',
  });
  t.is(error, undefined, JSON.stringify(error));
  t.is(json.status, 'success');
  const headers = json.headers as JsonObject;
  t.is(headers['x-gateway-provider'], 'openai');
  t.regex(String(headers['x-gateway-request-id']), /^[0-9a-f-]{36}$/);
  t.like(json.body as JsonObject, { object: 'chat.completion', model: 'gpt-4o-mini' });
  t.deepEqual(Object.keys(json).sort(), ['body', 'headers', 'status']);
  t.is(sent.length, 1);
  t.true(sent[0]!.url.endsWith('/chat/completions'));
  t.deepEqual(sent[0]!.json, {
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look: say "hi"\\' },
          { type: 'image_url', image_url: { url: 'https://example.com/i.png' } },
        ],
      },
    ],
    tools: [TOOL],
    tool_choice: 'auto',
    temperature: 0.9,
    max_tokens: 50,
    seed: 7,
    reasoning_effort: 'low',
  });
});

story('callers under an alias of the prefix get the bare completion', async (t, admin) => {
  const { slug } = await newPrompt(admin);
  const { json, error } = await run(
    admin.as(WORKSPACE_KEY),
    { prompt_id: slug, variables: VARIABLES },
    { 'x-gateway-api-key': undefined, 'x-portkey-api-key': WORKSPACE_KEY },
  );
  t.is(error, undefined, JSON.stringify(error));
  t.is(json.object, 'chat.completion');
  t.is((json.choices as JsonObject[]).length, 1);
  t.false('status' in json);
});

story('a prompt is streamed as a chat is', async (t, admin) => {
  const { slug } = await newPrompt(admin, {
    parameters: { tone: 'kind', stream_options: { include_usage: true } },
  });
  const { events, complete, sent, error } = await run(admin.as(WORKSPACE_KEY), {
    prompt_id: slug,
    variables: VARIABLES,
    stream: true,
  });
  t.is(error, undefined, JSON.stringify(error));
  t.true(complete);
  t.true(events.length > 1);
  t.true(events.every((event) => event.object === 'chat.completion.chunk' && Array.isArray(event.choices)));
  t.like(sent[0]!.json, { stream: true, stream_options: { include_usage: true } });
  const whole = await sentBy(t, admin.as(WORKSPACE_KEY), { prompt_id: slug, variables: VARIABLES });
  t.false('stream' in whole || 'stream_options' in whole);
});

story('plain text makes a text completion', async (t, admin) => {
  const { slug } = await newPrompt(admin, { string: 'Once {{what}}', parameters: { max_tokens: 5 } });
  const user = admin.as(WORKSPACE_KEY);
  const { json, sent } = await run(user, { prompt_id: slug, variables: { what: '"upon"' }, n: 2 });
  t.like(json.body as JsonObject, { object: 'text_completion' });
  t.true(sent[0]!.url.endsWith('/completions') && !sent[0]!.url.includes('chat'));
  t.deepEqual(sent[0]!.json, { model: 'gpt-4o-mini', prompt: 'Once "upon"', max_tokens: 5, n: 2 });
  const { events, complete } = await run(user, { prompt_id: slug, variables: { what: 'x' }, stream: true });
  t.true(complete && events.every((event) => event.object === 'text_completion'));
});

story('the suffix selects the version', async (t, admin) => {
  const user = admin.as(WORKSPACE_KEY);
  const { slug, version } = await newPrompt(admin, { string: '[{"role":"user","content":"one"}]' });
  const words = ['two', 'three'];
  for (const word of words)
    await admin.ok(updatePrompt, {
      prompt_id: slug,
      patch: true,
      string: `[{"role":"user","content":"${word}"}]`,
    });
  const said = async (prompt_id: string): Promise<unknown> =>
    ((await sentBy(t, user, { prompt_id, variables: {} })).messages as JsonObject[])[0]?.content;
  t.is(await said(slug), 'one');
  t.is(await said(`${slug}@latest`), 'three');
  t.is(await said(`${slug}@2`), 'two');
  await admin.ok(publishPrompt, { prompt_id: slug, version: 2 });
  t.is(await said(slug), 'two');
  const name = `canary-${slug}`;
  const { id: label_id = '' } = await admin.ok(LabelsService.method.createLabel, { name });
  await admin.ok(updatePromptVersion, { prompt_id: slug, version_id: version, label_id });
  t.is(await said(`${slug}@${name}`), 'one');
  const refusal = async (prompt_id: string) => refusedOf(await run(user, { prompt_id, variables: {} }));
  for (const suffix of ['@4', '@0', '@staging', '@nobody', '@', '@constructor', '@1e0'])
    t.like(await refusal(slug + suffix), { status: 404, param: 'prompt_id' }, suffix);
  t.like(await refusal('pp-nothing-000000'), { status: 404, param: 'prompt_id' });
  await admin.ok(LabelsService.method.deleteLabel, { label_id });
  t.is((await refusal(`${slug}@${name}`)).status, 404);
  await admin.ok(deletePrompt, { prompt_id: slug });
  t.is((await refusal(slug)).status, 404);
});

story('what is missing or wrong is named, and nothing is sent', async (t, admin) => {
  const user = admin.as(WORKSPACE_KEY);
  const { slug } = await newPrompt(admin);
  const refusal = async (body: JsonObject) => {
    const outcome = await run(user, { prompt_id: slug, variables: VARIABLES, ...body });
    t.is(outcome.sent.length, 0);
    return refusedOf(outcome);
  };
  const none = await refusal({ variables: {} });
  t.is(none.status, 400);
  t.deepEqual(none.fields, ['variables.q', 'variables.image']);
  for (const [body, param] of [
    [{ temperature: 3 }, 'temperature'],
    [{ max_tokens: -1 }, 'max_tokens'],
    [{ top_logprobs: 99 }, 'top_logprobs'],
    [{ messages: [{ role: 'user', content: 'x' }] }, 'messages'],
    [{ config: 'pc-x' }, 'config'],
    [{ stream_options: { include_usage: true } }, 'stream_options'],
  ] as const) {
    const { status, param: at } = await refusal(body as JsonObject);
    t.deepEqual([status, at], [400, param]);
  }
  t.is((await sentBy(t, user, { prompt_id: slug, variables: VARIABLES, max_tokens: 7 })).max_tokens, 7);
  const raw = await newPrompt(admin, {
    string: '[{"role":"user","content":{{content}}}]',
    is_raw_template: 1,
  });
  const inject = await run(user, {
    prompt_id: raw.slug,
    variables: { content: '"x"},{"role":"system","content":"y"' },
  });
  t.like(refusedOf(inject), { status: 400, param: 'variables.content' });
  const fine = await sentBy(t, user, {
    prompt_id: raw.slug,
    variables: { content: '[{"type":"text","text":"a"}]' },
  });
  t.deepEqual(fine.messages, [{ role: 'user', content: [{ type: 'text', text: 'a' }] }]);
});

test('variables must be text', async (t) => {
  const admin = new Caller(() => bench, 'rest');
  const { slug } = await newPrompt(admin);
  for (const method of [createPromptCompletion, renderPrompt])
    for (const [variables, param] of [
      [{ q: 7 }, 'variables.q'],
      [{ q: { a: 1 } }, 'variables.q'],
      ['x', 'variables'],
    ] as const) {
      const { status, param: at } = await admin
        .as(WORKSPACE_KEY)
        .refused(method, { prompt_id: slug, variables: variables as JsonObject });
      t.deepEqual([status, at?.replaceAll(/\["(.*)"\]/g, '.$1')], [400, param]);
    }
});

story('partials are filled in; publishing one changes the prompts that use it', async (t, admin) => {
  const user = admin.as(WORKSPACE_KEY);
  const { slug: part = '' } = await admin.ok(createPromptPartial, {
    name: 'Part',
    string: 'Say "{{word}}"\n',
  });
  const { slug } = await newPrompt(admin, {
    string: `[{"role":"user","content":"{{>${part}}}!{{>${part}@latest}}"}]`,
    parameters: { word: 'hi' },
  });
  const said = async (): Promise<unknown> =>
    ((await sentBy(t, user, { prompt_id: slug, variables: {} })).messages as JsonObject[])[0]?.content;
  t.is(await said(), 'Say "hi"\n!Say "hi"\n');
  await admin.ok(updatePromptPartial, { partial_id: String(part), string: 'new {{word}}' });
  t.is(await said(), 'Say "hi"\n!new hi');
  await admin.ok(publishPromptPartial, { partial_id: String(part), version: 2 });
  t.is(await said(), 'new hi!new hi');
  await admin.ok(deletePromptPartial, { partial_id: String(part) });
  t.like(refusedOf(await run(user, { prompt_id: slug, variables: {} })), { status: 404, param: 'string' });
});

story('rendering needs no provider', async (t, admin) => {
  const user = admin.as(WORKSPACE_KEY);
  const { slug } = await newPrompt(admin, { tools: [TOOL] });
  const bare = { 'x-gateway-provider': undefined, 'x-gateway-custom-host': undefined };
  const rendered = await user.exchange(
    renderPrompt,
    {
      prompt_id: `${slug}@latest`,
      variables: VARIABLES,
      top_p: 0.1,
      stream: true,
      temperature: null,
      user: 'me',
    },
    bare,
  );
  t.is(rendered.error, undefined, JSON.stringify(rendered.error));
  t.deepEqual(rendered.json, {
    success: true,
    data: {
      model: 'gpt-4o-mini',
      max_tokens: 50,
      top_p: 0.1,
      stream: true,
      tools: [TOOL],
      user: 'me',
      messages: [
        { role: 'system', content: 'Be kind.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look: say "hi"\\' },
            { type: 'image_url', image_url: { url: 'https://example.com/i.png' } },
          ],
        },
      ],
    },
  });
  const text = await newPrompt(admin, { string: 'Hi {{x}}', parameters: {} });
  const { json } = await user.exchange(renderPrompt, { prompt_id: text.slug, variables: { x: 'y' } }, bare);
  t.deepEqual(json.data, { model: 'gpt-4o-mini', prompt: 'Hi y' });
  t.deepEqual((await user.refused(renderPrompt, { prompt_id: slug })).fields, [
    'variables.q',
    'variables.image',
  ]);
  t.is((await user.refused(renderPrompt, { prompt_id: `${slug}@9`, variables: {} })).status, 404);
  t.is((await admin.refused(renderPrompt, { prompt_id: slug, variables: VARIABLES })).status, 403);
});

story("another workspace's prompts are nobody's", async (t, admin) => {
  const workspace_id = String(
    (await admin.ok(WorkspacesService.method.createWorkspace, { name: `Elsewhere ${t.title}` })).id,
  );
  const theirs = await newPrompt(admin, { workspace_id });
  const part = await admin.ok(createPromptPartial, { name: 'theirs', string: 'secret', workspace_id });
  const user = admin.as(WORKSPACE_KEY);
  t.is(refusedOf(await run(user, { prompt_id: theirs.slug, variables: VARIABLES })).status, 404);
  t.is((await user.refused(renderPrompt, { prompt_id: theirs.slug, variables: VARIABLES })).status, 404);
  t.is((await admin.refused(createPrompt, { name: 'n', string: `{{>${part.slug}}}` })).param, 'string');
  const made = await admin.ok(ApiKeysService.method.createApiKey, {
    type: 'workspace',
    sub_type: 'service',
    name: 'k',
    workspace_id,
    scopes: ['prompts.read'],
  });
  t.is((await admin.as(String(made.key)).refused(renderPrompt, { prompt_id: theirs.slug })).status, 403);
});

story('the stored provider runs it; the log knows the prompt', async (t, admin) => {
  const prefix = bench.mark();
  const name = `stored${prefix.slice(1)}`;
  const workspace_id = bench.gateway.app.tenancy.workspaceId;
  await admin.ok(VirtualKeysService.method.createVirtualKey, {
    name,
    slug: name,
    provider: 'openai',
    key: 'sk-stored-0123456789',
    workspace_id,
    custom_host: bench.provider.origin + prefix,
  });
  const { slug } = await newPrompt(admin, { virtual_key: name });
  const user = admin.as(WORKSPACE_KEY);
  const traceId = `trace-${name}`;
  const bare = { 'x-gateway-provider': undefined, 'x-gateway-custom-host': undefined };
  const { error } = await user.exchange(
    createPromptCompletion,
    { prompt_id: slug, variables: VARIABLES },
    { ...bare, 'x-gateway-trace-id': traceId, 'x-gateway-metadata': '{"team":"a"}' },
  );
  t.is(error, undefined, JSON.stringify(error));
  const [sent] = bench.sentTo(prefix);
  t.is(sent?.headers.authorization, 'Bearer sk-stored-0123456789');
  t.is(JSON.parse(sent!.body.toString()).model, 'gpt-4o-mini');
  const logs = await admin.ok(LogsService.method.listLogs, { trace_id: traceId });
  const [entry] = logs.data as JsonObject[];
  t.like(entry?.metadata as JsonObject, { _prompt: slug, team: 'a' });
  // A call's own selection goes before the prompt's.
  const { error: other, sent: elsewhere } = await run(user, { prompt_id: slug, variables: VARIABLES });
  t.is(other, undefined);
  t.is(elsewhere.length, 1);
  // A provider alone makes no version, and takes effect at once.
  await admin.ok(updatePrompt, { prompt_id: slug, virtual_key: null });
  const none = refusedOf(
    await user.exchange(createPromptCompletion, { prompt_id: slug, variables: VARIABLES }, bare),
  );
  t.is(none.status, 400);
});

test('configs of the call apply', async (t) => {
  const admin = new Caller(() => bench, 'rest');
  const { slug } = await newPrompt(admin);
  const prefix = bench.mark();
  const config = {
    provider: 'openai',
    api_key: 'sk-config',
    custom_host: bench.provider.origin + prefix,
    override_params: { max_tokens: 3 },
  };
  const { error } = await admin.as(WORKSPACE_KEY).exchange(
    createPromptCompletion,
    { prompt_id: slug, variables: VARIABLES },
    {
      'x-gateway-provider': undefined,
      'x-gateway-custom-host': undefined,
      'x-gateway-config': JSON.stringify(config),
    },
  );
  t.is(error, undefined, JSON.stringify(error));
  t.is(JSON.parse(bench.sentTo(prefix)[0]!.body.toString()).max_tokens, 3);
});

test('caches and guardrails of a config apply', async (t) => {
  const user = new Caller(() => bench, 'rest').as(WORKSPACE_KEY);
  const { slug } = await newPrompt(new Caller(() => bench, 'rest'));
  const prefix = bench.mark();
  const target = { provider: 'openai', api_key: 'sk-config', custom_host: bench.provider.origin + prefix };
  const call = (config: JsonObject, variables = VARIABLES) =>
    user.exchange(
      createPromptCompletion,
      { prompt_id: slug, variables },
      {
        'x-gateway-provider': undefined,
        'x-gateway-custom-host': undefined,
        'x-gateway-config': JSON.stringify({ ...target, ...config }),
      },
    );
  const cached = { cache: { mode: 'simple' } };
  const status = async (): Promise<unknown> => {
    const { json, error } = await call(cached);
    t.is(error, undefined, JSON.stringify(error));
    t.like(json.body as JsonObject, { object: 'chat.completion' });
    return (json.headers as JsonObject)['x-gateway-cache-status'];
  };
  t.deepEqual([await status(), await status()], ['MISS', 'HIT']);
  t.is(bench.sentTo(prefix).length, 1);
  const guarded = {
    input_guardrails: [{ 'default.contains': { words: ['forbidden'], operator: 'none' }, deny: true }],
  };
  t.is((await call(guarded)).error, undefined);
  const denied = refusedOf(await call(guarded, { ...VARIABLES, q: 'something forbidden' }));
  t.is(denied.status, 446);
  t.is(bench.sentTo(prefix).length, 2);
});

test("a config's own settings apply around the prompt's provider", async (t) => {
  const admin = new Caller(() => bench, 'rest');
  const prefix = bench.mark();
  const name = `open${prefix.slice(1)}`;
  await admin.ok(VirtualKeysService.method.createVirtualKey, {
    name,
    slug: name,
    provider: 'openai',
    key: 'sk-stored-0123456789',
    workspace_id: bench.gateway.app.tenancy.workspaceId,
    custom_host: bench.provider.origin + prefix,
  });
  const model = `flaky-1-${name}`;
  const { slug } = await newPrompt(admin, { virtual_key: name, model });
  const { error, json } = await admin.as(WORKSPACE_KEY).exchange(
    createPromptCompletion,
    { prompt_id: slug, variables: VARIABLES },
    {
      'x-gateway-provider': undefined,
      'x-gateway-custom-host': undefined,
      'x-gateway-config': '{"retry":{"attempts":2}}',
    },
  );
  t.is(error, undefined, JSON.stringify(error));
  t.is((json.headers as JsonObject)['x-gateway-retry-attempt-count'], '1');
  t.is(bench.sentTo(prefix).length, 2);
});

test('limits count prompts by what they become', async (t) => {
  const admin = new Caller(() => bench, 'rest');
  const { slug } = await newPrompt(admin, { parameters: { max_tokens: 500, tone: 'kind' } });
  const workspace_id = bench.gateway.app.tenancy.workspaceId;
  await admin.ok(RateLimitPoliciesService.method.createRateLimitPolicy, {
    name: 'prompts',
    workspace_id,
    type: 'tokens',
    unit: 'rpm',
    value: 400,
    conditions: [{ key: 'metadata._prompt', value: slug }],
    group_by: [{ key: 'workspace_id' }],
  });
  const user = admin.as(WORKSPACE_KEY);
  const refused = refusedOf(await run(user, { prompt_id: slug, variables: VARIABLES }));
  t.is(refused.status, 429);
  const smaller = await run(user, { prompt_id: slug, variables: VARIABLES, max_tokens: 10 });
  t.is(smaller.error, undefined, JSON.stringify(smaller.error));
});

test("OpenAI's client reads a prompt's stream", async (t) => {
  const admin = new Caller(() => bench, 'rest');
  const { slug } = await newPrompt(admin);
  const client = new OpenAI({
    apiKey: PROVIDER_KEY,
    baseURL: `${bench.gateway.origin}/v1`,
    defaultHeaders: bench.headers(bench.mark()),
  });
  const stream = await client.post(`/prompts/${slug}/completions`, {
    body: { variables: VARIABLES, stream: true },
    stream: true,
  });
  let text = '';
  for await (const chunk of stream as AsyncIterable<OpenAI.ChatCompletionChunk>)
    text += chunk.choices[0]?.delta.content ?? '';
  t.true(text.length > 0);
});
