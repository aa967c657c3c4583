// Which provider a call goes to: every way of selecting one, and every contradiction.
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import {
  type Answered,
  type Bench,
  bad,
  type Case,
  type JsonObject,
  PROVIDER_KEY,
  type Refusal,
  runCases,
  startBench,
} from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = ChatService.method.createChatCompletion;
const body: JsonObject = { model: 'gpt-ok', messages: [{ role: 'user', content: 'x' }] };
const NO_SELECTION = { 'x-gateway-provider': undefined, 'x-gateway-custom-host': undefined };

const refused = (name: string, headers: Case['headers'] & object, expected: Refusal): Case => ({
  name,
  method,
  body,
  headers,
  refused: expected,
});

const conflict = (name: string, headers: Case['headers'] & object, param?: string): Case =>
  refused(name, headers, {
    ...bad('selection_conflict', '', 'different'),
    ...(param ? { param } : { param: 'x' }),
  });

/** A config that leads to the fake provider; its address is only known when it runs. */
const config = (name: string, make: (host: string) => JsonObject, more: Partial<Case> = {}): Case => ({
  name,
  method,
  body,
  headers: {
    ...NO_SELECTION,
    get 'x-gateway-config'() {
      return JSON.stringify(make(`${bench.provider.origin}/by-config`));
    },
  },
  check: answeredByFake,
  ...more,
});

function answeredByFake(t: Parameters<NonNullable<Case['check']>>[0], answer: Answered): void {
  t.is(answer.json.id, 'chatcmpl-1');
  t.is(answer.headers.get('x-gateway-provider'), 'openai');
}

const unread = (name: string, text: string, expected: Refusal): Case =>
  refused(name, { ...NO_SELECTION, 'x-gateway-config': text }, expected);

const CONFIG = 'x-gateway-config';

const CASES: Case[] = [
  {
    name: 'a provider by identifier and a custom host',
    method,
    body,
    check: answeredByFake,
  },
  {
    name: 'a custom host with a trailing slash and a base path',
    method,
    body,
    headers: {
      get 'x-gateway-custom-host'() {
        return `${bench.provider.origin}/base/v1/`;
      },
    },
    check: (t, answer) => {
      answeredByFake(t, answer);
      t.true(bench.provider.seen.some(({ url }) => url === '/base/v1/chat/completions'));
    },
  },
  {
    name: 'the OpenAI-compatible type needs no credential',
    method,
    body,
    headers: { 'x-gateway-provider': 'openai-compatible', authorization: undefined },
    check: (t, answer) => {
      t.is(answer.headers.get('x-gateway-provider'), 'openai-compatible');
      t.is(answer.sent[0]!.headers.authorization, undefined);
    },
  },
  {
    name: 'anthropic is sent x-api-key and its version',
    method,
    body: { ...body, max_tokens: 16 },
    headers: { 'x-gateway-provider': 'anthropic' },
    check: (t, answer) => {
      const { headers, url } = answer.sent[0]!;
      t.is(headers['x-api-key'], PROVIDER_KEY);
      t.is(headers.authorization, undefined);
      t.regex(String(headers['anthropic-version']), /^\d{4}-\d\d-\d\d$/);
      t.regex(url, /\/messages$/);
      t.is(answer.headers.get('x-gateway-provider'), 'anthropic');
      const [choice] = answer.json.choices as JsonObject[];
      t.is((choice!.message as JsonObject).content, 'Hello, wörld! 👋');
      t.is(choice!.finish_reason, 'stop');
      t.is((answer.json.usage as JsonObject).completion_tokens, 4);
    },
  },
  {
    name: 'anthropic streamed',
    method,
    body: { ...body, max_tokens: 16, stream: true },
    headers: { 'x-gateway-provider': 'anthropic' },
    check: (t, answer) => {
      t.true(answer.complete);
      const text = answer.events
        .map(({ choices }) => ((choices as JsonObject[])[0]?.delta as JsonObject | undefined)?.content ?? '')
        .join('');
      t.is(text, 'Hello, wörld! 👋');
      for (const event of answer.events) t.false('usage' in event);
    },
  },
  {
    name: 'azure with its header group',
    method,
    body: { messages: body.messages! },
    headers: {
      'x-gateway-provider': 'azure-openai',
      'x-gateway-azure-deployment-id': 'my-deployment',
      'x-gateway-azure-api-version': '2024-10-21',
    },
    check: (t, answer) => {
      const { headers, url } = answer.sent[0]!;
      t.regex(url, /\/deployments\/my-deployment\/chat\/completions\?api-version=2024-10-21$/);
      t.is(headers['api-key'], PROVIDER_KEY);
      t.is(headers.authorization, undefined);
    },
  },
  refused(
    'azure without its resource is refused',
    {
      'x-gateway-provider': 'azure-openai',
      'x-gateway-custom-host': undefined,
      'x-gateway-azure-deployment-id': 'd',
      'x-gateway-azure-api-version': '2024-10-21',
    },
    bad('invalid_header', 'x-gateway-azure-resource-name', 'is required'),
  ),
  refused(
    'azure with a resource that is another host is refused',
    {
      'x-gateway-provider': 'azure-openai',
      'x-gateway-custom-host': undefined,
      'x-gateway-azure-resource-name': 'evil.example.org/#',
      'x-gateway-azure-deployment-id': 'd',
      'x-gateway-azure-api-version': '2024-10-21',
    },
    bad('invalid_header', 'x-gateway-azure-resource-name'),
  ),
  refused('no way at all', NO_SELECTION, bad('provider_missing', 'x-gateway-provider', 'no provider')),
  refused('an empty provider', { 'x-gateway-provider': '' }, bad('provider_missing', 'x-gateway-provider')),
  refused(
    'a custom host without a provider',
    { 'x-gateway-provider': undefined },
    bad('provider_missing', 'x-gateway-provider'),
  ),
  refused(
    'an unknown provider',
    { 'x-gateway-provider': 'nobody' },
    bad('provider_unknown', 'x-gateway-provider', 'nobody'),
  ),
  refused(
    'a provider in another case',
    { 'x-gateway-provider': 'OpenAI' },
    bad('provider_unknown', 'x-gateway-provider'),
  ),
  refused(
    'a provider named like a property of every object',
    { 'x-gateway-provider': 'constructor' },
    bad('provider_unknown', 'x-gateway-provider'),
  ),
  refused(
    'a stored provider that is not there',
    { 'x-gateway-provider': '@mine', 'x-gateway-custom-host': undefined },
    bad('provider_unknown', 'x-gateway-provider', 'mine'),
  ),
  refused(
    'a virtual key that is not there',
    { ...NO_SELECTION, 'x-gateway-virtual-key': 'mine' },
    bad('provider_unknown', 'x-gateway-virtual-key', 'mine'),
  ),
  refused(
    'no credential for a provider that needs one',
    { authorization: undefined, 'x-gateway-custom-host': undefined },
    bad('invalid_header', 'authorization', 'needs a credential'),
  ),
  {
    name: 'a custom host may need no credential',
    method,
    body,
    headers: { authorization: undefined },
    check: (t, answer) => t.is(answer.sent[0]!.headers.authorization, undefined),
  },
  conflict(
    'a virtual key and a config',
    { ...NO_SELECTION, 'x-gateway-virtual-key': 'a', 'x-gateway-config': '{"provider":"openai"}' },
    'x-gateway-virtual-key',
  ),
  conflict('a virtual key and a custom host', { 'x-gateway-virtual-key': 'a' }, 'x-gateway-virtual-key'),
  conflict(
    'a virtual key and a provider',
    { 'x-gateway-custom-host': undefined, 'x-gateway-virtual-key': 'a' },
    'x-gateway-virtual-key',
  ),
  conflict(
    'a config and another provider',
    { 'x-gateway-custom-host': undefined, 'x-gateway-config': '{"provider":"groq","api_key":"k"}' },
    'x-gateway-config',
  ),
  conflict(
    'a config that selects, and a custom host',
    { 'x-gateway-provider': undefined, 'x-gateway-config': '{"provider":"openai","api_key":"k"}' },
    'x-gateway-config',
  ),
  conflict(
    'two custom hosts',
    { 'x-gateway-config': '{"custom_host":"https://api.openai.com"}' },
    'x-gateway-config',
  ),
  conflict('a stored provider and a custom host', { 'x-gateway-provider': '@mine' }, 'x-gateway-provider'),

  config('a config of one target', (host) => ({ provider: 'openai', api_key: 'k1', custom_host: host })),
  config('a config in camelCase', (host) => ({ provider: 'openai', apiKey: 'k1', customHost: host })),
  config('a config with a list of one target', (host) => ({
    strategy: { mode: 'single' },
    targets: [{ provider: 'openai', api_key: 'k1', custom_host: host, weight: 1, name: 'first' }],
  })),
  config('a config’s target inherits what it does not say', (host) => ({
    custom_host: host,
    api_key: 'k1',
    targets: [{ provider: 'openai' }],
  })),
  config(
    'a config and the same provider in its header',
    (host) => ({ provider: 'openai', api_key: 'k1', custom_host: host }),
    {
      headers: {
        'x-gateway-custom-host': undefined,
        get 'x-gateway-config'() {
          return JSON.stringify({
            provider: 'openai',
            api_key: 'k1',
            custom_host: `${bench.provider.origin}/by-config`,
          });
        },
      },
    },
  ),
  unread('a config that is no JSON', '{"provider":', bad('invalid_header', CONFIG, 'valid JSON')),
  unread('a config that is a list', '[]', bad('invalid_header', CONFIG)),
  unread(
    'a config that is a saved one’s id',
    'pc-main-12ab',
    bad('config_invalid', CONFIG, 'no saved config'),
  ),
  unread('an empty config', '{}', bad('provider_missing', 'x-gateway-provider')),
  unread(
    'a config with an unknown member',
    '{"provider":"openai","api_key":"k","cach":{"mode":"simple"}}',
    bad('config_invalid', 'cach', 'not known'),
  ),
  unread(
    'a config with an unknown member in its target',
    '{"targets":[{"provider":"openai","colour":1}]}',
    bad('config_invalid', 'targets[0].colour'),
  ),
  unread(
    'a config of two targets without a strategy',
    '{"targets":[{"provider":"openai","api_key":"a"},{"provider":"groq","api_key":"b"}]}',
    bad('config_invalid', 'strategy', 'required with more than one target'),
  ),
  unread(
    'a config that passes through beside its targets',
    '{"strategy":{"mode":"fallback"},"passthrough":true,"targets":[{"provider":"openai","api_key":"k"}]}',
    bad('config_invalid', 'passthrough', 'beside `targets`'),
  ),
  unread(
    'a config that passes through beside targets of a target',
    '{"strategy":{"mode":"fallback"},"targets":[{"strategy":{"mode":"single"},"passthrough":true,"targets":[{"provider":"openai","api_key":"k"}]}]}',
    bad('config_invalid', 'targets[0].passthrough', 'beside `targets`'),
  ),
  unread('a config of no targets', '{"targets":[]}', bad('config_invalid', 'targets')),
  unread(
    'a config of an unknown strategy',
    '{"strategy":{"mode":"roundrobin"},"targets":[{"provider":"openai"}]}',
    bad('config_invalid', 'strategy.mode', 'must be one of single, loadbalance, fallback, conditional'),
  ),
  unread(
    'a config whose targets name no credential for two providers',
    '{"strategy":{"mode":"fallback"},"targets":[{"provider":"openai"},{"provider":"groq"}]}',
    bad('config_invalid', 'targets[1].api_key', 'is required'),
  ),
  unread(
    'a config of an unknown provider',
    '{"provider":"nobody","api_key":"k"}',
    bad('config_invalid', 'provider', 'known'),
  ),
  unread(
    'a config whose provider is a number',
    '{"provider":7}',
    bad('config_invalid', 'provider', 'string'),
  ),
  unread(
    'a config with a broken timeout',
    '{"provider":"openai","request_timeout":"1s"}',
    bad('config_invalid', 'request_timeout'),
  ),
  unread(
    'a config whose credential is a key of this gateway',
    JSON.stringify({ provider: 'openai', api_key: WORKSPACE_KEY }),
    bad('config_invalid', 'api_key', 'key of this gateway'),
  ),
  unread(
    'a config whose credential is another key of this gateway',
    JSON.stringify({ provider: 'openai', api_key: ADMIN_KEY }),
    bad('config_invalid', 'api_key'),
  ),
  unread(
    'a config whose host is private',
    '{"provider":"openai","api_key":"k","custom_host":"http://10.0.0.1"}',
    bad('host_refused', 'custom_host'),
  ),
];

// 127.0.0.1 is allow-listed here; everything else that is private is not, in whatever spelling.
const PRIVATE = [
  'http://10.0.0.1/v1',
  'http://192.168.1.1',
  'http://172.16.0.1:8080',
  'http://169.254.169.254/latest/meta-data',
  'http://127.0.0.2',
  'http://0.0.0.0',
  'http://100.64.0.1',
  'http://[::1]',
  'http://[::ffff:10.0.0.1]',
  'http://[::ffff:169.254.169.254]',
  'http://[64:ff9b::a00:1]',
  'http://[fd00::1]',
  'http://[fe80::1]',
  'http://2130706433',
  'http://0x7f000001',
  'http://0177.0.0.1',
  'http://127.1',
  'http://127.0.0.1.',
  'http://127。0。0。1',
  'http://localhost',
  'http://sub.localhost:3000',
  'http://metadata.google.internal',
  'http://127.0.0.1.nip.io',
  'http://intranet',
  'http://printer.local',
  'http://127.0.0.1:6379',
  'http://user:pass@127.0.0.1',
  'http://127.0.0.1@10.0.0.1',
  'http://127.0.0.1/#x',
  'http://127.0.0.1\\@10.0.0.1',
  'ftp://127.0.0.1',
  'file:///etc/passwd',
  'gopher://127.0.0.1',
  'javascript:alert(1)',
  '//127.0.0.1',
  '127.0.0.1',
  'http://',
  'http:///x',
  'not a url',
  '',
];

for (const host of PRIVATE) {
  // What is no Latin-1 cannot be put into a header.
  if (/[^\x20-\xff]/.test(host)) continue;
  CASES.push(
    refused(
      `the custom host ${JSON.stringify(host)}`,
      { 'x-gateway-custom-host': host },
      {
        ...bad('host_refused', 'x-gateway-custom-host'),
        message: /x-gateway-custom-host/,
      },
    ),
  );
}

runCases(test, () => bench, CASES);
