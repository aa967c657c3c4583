// Of each member of a chat completion, at each translating dialect: it is in the provider's request, or it is refused by
// its name, or it is told as left out. Nothing is lost silently, and what is refused is refused before any call.
import test from 'ava';
import { CreateChatCompletionRequestSchema } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { codec } from '../../src/rest/codec.ts';
import { dialects } from './support/golden.ts';
import { textOfBody } from './support/outbound-body.ts';
import { contextOf, targetOf } from './support/target.ts';

type Members = Readonly<Record<string, unknown>>;

const WIRES = [
  ['anthropic', 'claude-sonnet-4-5', {}],
  ['google', 'gemini-2.5-pro', {}],
  ['vertex-ai', 'gemini-2.5-pro', {}],
  ['vertex-ai', 'anthropic.claude-sonnet-4-5', {}],
  ['bedrock', 'anthropic.claude-sonnet-4-5-20250929-v1:0', {}],
  ['bedrock', 'amazon.nova-pro-v1:0', {}],
  ['cohere', 'command-a-03-2025', {}],
  ['oracle', 'meta.llama-3.3-70b-instruct', { oracle_tenancy: 't' }],
  ['oracle', 'cohere.command-a-03-2025', { oracle_tenancy: 't' }],
  ['azure-ai', 'claude-opus-4-1', { azure_foundry_url: 'https://r.services.ai.azure.com/anthropic' }],
] as const;

const TOOLS = [
  { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } },
];
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };

/** One or more values of each member, with the members that it needs. */
const VALUES: Readonly<Record<string, readonly (readonly [value: unknown, needs?: Members])[]>> = {
  frequency_penalty: [[0.5]],
  presence_penalty: [[0.5]],
  logit_bias: [[{ 50256: -100 }]],
  logprobs: [[true]],
  top_logprobs: [[3, { logprobs: true }]],
  max_tokens: [[3777]],
  max_completion_tokens: [[3777]],
  n: [[2]],
  response_format: [
    [{ type: 'json_object' }],
    [{ type: 'json_schema', json_schema: { name: 's', schema: SCHEMA } }],
    [{ type: 'grammar' }],
  ],
  seed: [[5]],
  stop: [['END'], [['A', 'B']]],
  temperature: [[0.3]],
  top_p: [[0.7]],
  tools: [[TOOLS], [[{ type: 'custom', custom: { name: 'c' } }]], [[{ type: 'wizardry' }]]],
  tool_choice: [
    ['required', { tools: TOOLS }],
    ['none', { tools: TOOLS }],
    [{ type: 'function', function: { name: 'look' } }, { tools: TOOLS }],
    [{ type: 'custom', custom: { name: 'c' } }, { tools: TOOLS }],
  ],
  parallel_tool_calls: [[false, { tools: TOOLS }]],
  user: [['somebody']],
  reasoning_effort: [['high'], ['none'], ['wizardly']],
  thinking: [[{ type: 'enabled', budget_tokens: 2048 }], [{ type: 'disabled' }]],
  service_tier: [['flex'], ['priority'], ['default']],
  store: [[true]],
  metadata: [[{ team: 'a' }]],
  modalities: [[['text', 'audio']]],
  audio: [[{ voice: 'alloy', format: 'wav' }]],
  prediction: [[{ type: 'content', content: 'x' }]],
  web_search_options: [[{}]],
  prompt_cache_key: [['k']],
  safety_identifier: [['s']],
  verbosity: [['low'], ['high']],
  functions: [[[{ name: 'f' }]]],
  function_call: [['auto'], [{ name: 'f' }]],
};
/** What every request has, and what a stream alone has: the dialects' goldens show it. */
const OTHERS = ['model', 'messages', 'stream', 'stream_options', 'extra'];

/** Messages with something in them that a wire may not have: the text that shows it, and the field that is named. */
const MESSAGES: Readonly<Record<string, readonly [message: Members, shows: string, field: string]>> = {
  'a name': [{ role: 'user', name: 'zoe', content: 'Hi' }, 'zoe', 'messages[0].name'],
  'an unknown role': [{ role: 'wizard', content: 'Hi' }, 'wizard', 'messages[0].role'],
  'a function’s role': [{ role: 'function', name: 'f', content: 'Hi' }, 'function', 'messages[0].role'],
  'an unknown part': [
    { role: 'user', content: [{ type: 'smell', smell: 'rose' }] },
    'rose',
    'messages[0].content[0]',
  ],
  sound: [
    { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }] },
    'UklGRg==',
    'messages[0].content[0]',
  ],
  'a file by its id': [
    { role: 'user', content: [{ type: 'file', file: { file_id: 'file-77' } }] },
    'file-77',
    'messages[0].content[0]',
  ],
  'how closely to look': [
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
      ],
    },
    'LOW',
    'messages[0].content[0].image_url.detail',
  ],
  'sound of another answer': [
    { role: 'assistant', audio: { id: 'audio_7' } },
    'audio_7',
    'messages[0].audio',
  ],
  'images that a model made': [
    {
      role: 'assistant',
      content: 'Here.',
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
    },
    'iVBORw0KGgo=',
    'messages[0].images',
  ],
  'a file': [
    {
      role: 'user',
      content: [
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
      ],
    },
    'JVBERi0=',
    'messages[0].content[0]',
  ],
  'an uploaded file': [
    { role: 'user', content: [{ type: 'file', file: { file_id: 'file-77' } }] },
    'file-77',
    'messages[0].content[0]',
  ],
  'a tool’s result without a call': [{ role: 'tool', content: 'ok' }, 'ok', 'messages[0]'],
};

interface Outcome {
  readonly body: string;
  readonly refused: readonly string[];
  readonly lost: readonly string[];
}

function asked(provider: string, options: Members, json: Members, stream: boolean): Outcome {
  const target = targetOf(provider, { options: options as Record<string, string> });
  const lost: string[] = [];
  const context = { ...contextOf(target), lost: (names: readonly string[]) => void lost.push(...names) };
  const chat = dialects.get(target.provider.dialect)!.chat!;
  const request = codec.decodeRequest(CreateChatCompletionRequestSchema, json);
  try {
    const { body, path } = stream ? chat.streamRequest(request, context) : chat.request(request, context);
    return { body: path + textOfBody(body), refused: [], lost };
  } catch (error) {
    if (!(error instanceof GatewayError) || error.status !== 400) throw error;
    const { violations = [], param = '' } = error.details;
    return { body: '', refused: [param, ...violations.map(({ field }) => field)], lost };
  }
}

test('every member of the request is in the sweep', (t) => {
  const known = new Set([...Object.keys(VALUES), ...OTHERS]);
  t.deepEqual(
    CreateChatCompletionRequestSchema.fields.map(({ name }) => name).filter((name) => !known.has(name)),
    [],
  );
});

for (const [provider, model, options] of WIRES)
  for (const stream of [false, true]) {
    const at = `${provider} ${model}${stream ? ', streamed' : ''}`;
    const base = { model, messages: [{ role: 'user', content: 'Hi' }] };
    for (const [name, values] of Object.entries(VALUES))
      test(`${at}: ${name}`, (t) => {
        for (const [value, needs = {}] of values) {
          const without = asked(provider, options, { ...base, ...needs }, stream);
          if (without.refused.length > 0) {
            t.false(Object.keys(needs).length === 0);
            continue;
          }
          const told = asked(provider, options, { ...base, ...needs, [name]: value }, stream);
          const names = [...told.refused, ...told.lost].map((field) => field.split(/[.[]/)[0]);
          const isExpressed = told.refused.length === 0 && told.body !== without.body;
          t.true(isExpressed || names.includes(name), `${JSON.stringify(value)}: ${JSON.stringify(told)}`);
        }
      });
    for (const [name, [message, shows, field]] of Object.entries(MESSAGES))
      test(`${at}: ${name} of a message`, (t) => {
        const told = asked(provider, options, { model, messages: [message] }, stream);
        const named = [...told.refused, ...told.lost].some((one) => one.startsWith(field));
        const isShown = told.body.includes(shows) || told.body.includes(shows.toLowerCase());
        t.true(named || isShown, JSON.stringify(told));
      });
    test(`${at}: members of nobody’s are carried`, (t) => {
      const told = asked(provider, options, { ...base, zzz_unheard: 'of-it' }, stream);
      t.true(
        told.body.includes('of-it') ||
          told.refused.includes('zzz_unheard') ||
          told.lost.includes('zzz_unheard'),
        JSON.stringify(told),
      );
    });
  }
