// Of each member of a Responses or Messages request that goes over another wire's chat: it changes the provider's request,
// or it is refused by its name, or it is told as left out. The members are those of the official SDKs' own types.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { DescMessage } from '@bufbuild/protobuf';
import test from 'ava';
import { CreateMessageRequestSchema } from '../../../gen/gateway/inference/v2/messages_pb.ts';
import { CreateResponseRequestSchema } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { spoken } from '../../../src/providers/forms/spoken.ts';
import { codec } from '../../../src/rest/codec.ts';
import { dialects } from '../support/golden.ts';
import { textOfBody } from '../support/outbound-body.ts';
import { contextOf, targetOf } from '../support/target.ts';

type Json = Readonly<Record<string, unknown>>;
/** A value, and the members that it needs. */
type Sample = readonly [value: unknown, needs?: Json];

const WIRES = [
  ['cerebras', 'llama-3.3-70b'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['google', 'gemini-2.5-pro'],
  ['bedrock', 'anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ['bedrock', 'amazon.nova-pro-v1:0'],
  ['cohere', 'command-a-03-2025'],
] as const;

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
const FUNCTION = { type: 'function', name: 'look', parameters: SCHEMA };
const TOOL = { name: 'look', input_schema: SCHEMA };
const MARK = { type: 'ephemeral' };
const item = (more: Json): Json => ({ input: [{ role: 'user', content: 'Hi' }, more] });
const said = (...content: readonly Json[]): Json => ({ messages: [{ role: 'user', content }] });
const text = { type: 'text', text: 'Hi' };

/** Of Responses. An empty list: the gateway itself honours it, or it says nothing of the answer. */
const RESPONSES: Readonly<Record<string, readonly Sample[]>> = {
  model: [],
  input: [],
  store: [],
  stream: [],
  stream_options: [],
  metadata: [],
  background: [[true]],
  context_management: [[[{ type: 'compaction', compact_threshold: 1000 }]]],
  conversation: [['conv_1']],
  include: [[['web_search_call.results']], [['message.output_text.logprobs']]],
  instructions: [['Be brief']],
  max_output_tokens: [[3777]],
  max_tool_calls: [[3]],
  moderation: [[{ model: 'm' }]],
  parallel_tool_calls: [[false, { tools: [FUNCTION] }]],
  previous_response_id: [['resp_1']],
  prompt: [[{ id: 'pmpt_1' }]],
  prompt_cache_key: [['k']],
  prompt_cache_options: [[{ mode: 'explicit' }]],
  prompt_cache_retention: [['24h']],
  reasoning: [[{ effort: 'low' }], [{ summary: 'detailed' }], [{ context: 'all_turns' }], [{ mode: 'pro' }]],
  safety_identifier: [['s']],
  service_tier: [['flex'], ['priority']],
  temperature: [[0.3]],
  text: [
    [{ format: { type: 'json_schema', name: 's', schema: SCHEMA } }],
    [{ format: { type: 'json_object' } }],
    [{ format: { type: 'grammar', syntax: 'lark', definition: 'x' } }],
    [{ verbosity: 'low' }],
  ],
  tool_choice: [
    ['required', { tools: [FUNCTION] }],
    ['required', { tools: [{ type: 'web_search' }] }],
    [{ type: 'function', name: 'look' }, { tools: [FUNCTION] }],
    [{ type: 'web_search' }, { tools: [FUNCTION, { type: 'web_search' }] }],
    [{ type: 'web_search' }, { tools: [{ type: 'web_search' }] }],
  ],
  tools: [
    [[FUNCTION]],
    [[{ type: 'web_search' }]],
    [[{ type: 'custom', name: 'patch' }]],
    [[{ type: 'mcp', server_label: 's' }]],
    [[{ type: 'namespace', name: 'n', tools: [FUNCTION] }]],
  ],
  top_logprobs: [[3, { include: ['message.output_text.logprobs'] }]],
  top_p: [[0.7]],
  truncation: [['auto']],
  user: [['zoe']],
};
/** Of parts of Responses: what is added, to what, and the name that is told. */
const RESPONSE_PARTS: Readonly<Record<string, readonly [without: Json, given: Json, name: string]>> = {
  'a function’s strictness': [{ tools: [FUNCTION] }, { tools: [{ ...FUNCTION, strict: true }] }, 'tools'],
  'a function’s callers': [
    { tools: [FUNCTION] },
    { tools: [{ ...FUNCTION, allowed_callers: ['programmatic'] }] },
    'tools',
  ],
  'a function’s result': [
    { tools: [FUNCTION] },
    { tools: [{ ...FUNCTION, output_schema: SCHEMA }] },
    'tools',
  ],
  'how closely to look': [
    item({
      role: 'user',
      content: [{ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }],
    }),
    item({
      role: 'user',
      content: [{ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' }],
    }),
    'input',
  ],
  'a mark of the cache': [
    item({ role: 'user', content: [{ type: 'input_text', text: 'x' }] }),
    item({
      role: 'user',
      content: [{ type: 'input_text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit' } }],
    }),
    'input',
  ],
  'the words of reasoning': [
    { input: [{ role: 'user', content: 'Hi' }] },
    item({ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'thought' }] }),
    'input',
  ],
  'a computer’s call': [
    { input: [{ role: 'user', content: 'Hi' }] },
    item({ type: 'computer_call', call_id: 'c', action: { type: 'screenshot' } }),
    'input',
  ],
};

const MESSAGES: Readonly<Record<string, readonly Sample[]>> = {
  model: [],
  messages: [],
  stream: [],
  max_tokens: [[3777]],
  billing_policy: [['x']],
  cache_control: [[MARK]],
  compaction: [[{ type: 'auto' }]],
  container: [['c']],
  context_management: [[{ edits: [] }]],
  diagnostics: [[{ x: 1 }]],
  fallback_credit_token: [['t']],
  fallbacks: [[[{ model: 'm' }]]],
  inference_geo: [['us']],
  mcp_servers: [[[{ type: 'url', url: 'https://example.com', name: 'm' }]]],
  metadata: [[{ user_id: 'zoe' }], [{ team: 'a' }]],
  output_config: [
    [{ effort: 'low' }],
    [{ format: { type: 'json_schema', schema: SCHEMA } }],
    [{ task_budget: { type: 'tokens', total: 20_000 } }],
  ],
  output_format: [[{ type: 'json_schema', schema: SCHEMA }]],
  service_tier: [['standard_only']],
  speed: [['fast']],
  stop_sequences: [[['END']]],
  system: [['Be brief'], [[{ type: 'text', text: 'Be brief' }]]],
  temperature: [[0.3]],
  thinking: [[{ type: 'enabled', budget_tokens: 2000 }], [{ type: 'adaptive' }]],
  thread: [[{ id: 't' }]],
  tool_choice: [
    [{ type: 'any' }, { tools: [TOOL] }],
    [{ type: 'auto', disable_parallel_tool_use: true }, { tools: [TOOL] }],
    [{ type: 'tool', name: 'look' }, { tools: [TOOL] }],
    [{ type: 'any' }, { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ],
  tools: [
    [[TOOL]],
    [[{ type: 'web_search_20250305', name: 'web_search' }]],
    [[{ type: 'bash_20250124', name: 'bash' }]],
  ],
  top_k: [[5]],
  top_p: [[0.7]],
  user_profile_id: [['u']],
  workspace_id: [['w']],
};
const MESSAGE_PARTS: Readonly<Record<string, readonly [without: Json, given: Json, name: string]>> = {
  'a tool’s strictness': [{ tools: [TOOL] }, { tools: [{ ...TOOL, strict: true }] }, 'tools'],
  'a tool’s examples': [{ tools: [TOOL] }, { tools: [{ ...TOOL, input_examples: [{ a: 'b' }] }] }, 'tools'],
  'a deferred tool': [{ tools: [TOOL] }, { tools: [{ ...TOOL, defer_loading: true }] }, 'tools'],
  'a mark of a text': [said(text), said({ ...text, cache_control: MARK }), 'messages'],
  'citations of a text': [
    said(text),
    said({ ...text, citations: [{ type: 'char_location', cited_text: 'x' }] }),
    'messages',
  ],
  'citations of a document': [
    said({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }),
    said({
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'x' },
      citations: { enabled: true },
    }),
    'messages',
  ],
  'a document’s context': [
    said({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }),
    said({
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'x' },
      context: 'from zoe',
    }),
    'messages',
  ],
  'citations of a search result': [
    said({ type: 'search_result', title: 't', source: 's', content: [text] }),
    said({ type: 'search_result', title: 't', source: 's', content: [text], citations: { enabled: true } }),
    'messages',
  ],
  'a mark of a search result': [
    said({ type: 'search_result', title: 't', source: 's', content: [text] }),
    said({ type: 'search_result', title: 't', source: 's', content: [text], cache_control: MARK }),
    'messages',
  ],
  'a document by address': [
    said(text),
    said(text, { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }),
    'messages',
  ],
  'an uploaded file': [said(text), said(text, { type: 'container_upload', file_id: 'file_1' }), 'messages'],
  'a marked system': [{ system: [text] }, { system: [{ ...text, cache_control: MARK }] }, 'system'],
  'a server’s tool in the history': [
    { messages: [...(said(text).messages as Json[]), { role: 'assistant', content: [text] }] },
    {
      messages: [
        ...(said(text).messages as Json[]),
        {
          role: 'assistant',
          content: [{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }, text],
        },
      ],
    },
    'messages',
  ],
  'citations of an answer': [
    { messages: [...(said(text).messages as Json[]), { role: 'assistant', content: [text] }] },
    {
      messages: [
        ...(said(text).messages as Json[]),
        {
          role: 'assistant',
          content: [{ ...text, citations: [{ type: 'char_location', cited_text: 'x' }] }],
        },
      ],
    },
    'messages',
  ],
};

interface Outcome {
  readonly body: string;
  readonly refused: readonly string[];
  readonly lost: readonly string[];
}

type Name = 'responses' | 'messages';

const FORMS = {
  responses: { schema: CreateResponseRequestSchema as DescMessage, base: { input: 'Hi' } },
  messages: {
    schema: CreateMessageRequestSchema as DescMessage,
    base: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  },
} as const;

function asked(form: Name, provider: string, json: Json): Outcome {
  const target = targetOf(provider, { strict: false });
  const lost: string[] = [];
  const context = { ...contextOf(target), lost: (names: readonly string[]) => void lost.push(...names) };
  const dialect = dialects.get(target.provider.dialect)!;
  const { operation, wire } = spoken(codec, dialect, target.provider, form)!;
  if (wire === form) throw new Error(`${provider} speaks ${form} itself`);
  const request = codec.decodeRequest(FORMS[form].schema, json as never);
  try {
    const { body, path: at } = operation.request(request as never, context);
    return { body: at + textOfBody(body), refused: [], lost };
  } catch (error) {
    if (!(error instanceof GatewayError) || error.status !== 400) throw error;
    const { violations = [], param = '' } = error.details;
    return { body: '', refused: [param, ...violations.map(({ field }) => field)], lost };
  }
}

/** Whether what was added is in the request, refused or told. */
function isAccounted(without: Outcome, given: Outcome, name: string): boolean {
  const told = given.lost.filter((one) => !without.lost.includes(one));
  const names = [...given.refused, ...told].map((field) => field.split(/[.[ ]/)[0]);
  return (
    (given.refused.length === 0 && given.body !== without.body) ||
    names.includes(name) ||
    names.includes(ALIASES[name] ?? '')
  );
}

/** Members that another one's name tells of, too. */
const ALIASES: Readonly<Record<string, string>> = { thinking: 'output_config' };

function membersOf(file: string, name: string): string[] {
  const types = readFileSync(path.join('node_modules', file), 'utf8');
  const own = types.slice(types.indexOf(`export interface ${name} `));
  const body = own.slice(0, own.indexOf('\n}'));
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, member]) => member!);
}

test('every member of the SDKs’ types is in the sweep', (t) => {
  const unswept = (members: readonly string[], known: object): string[] =>
    members.filter((name) => !Object.hasOwn(known, name) && name !== 'betas');
  const responses = membersOf('openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase');
  const messages = [
    ...membersOf('@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCreateParamsBase'),
    ...membersOf('@anthropic-ai/sdk/resources/beta/messages/messages.d.ts', 'MessageCreateParamsBase'),
  ];
  t.true(responses.length > 20 && messages.length > 30);
  t.deepEqual(unswept(responses, RESPONSES), []);
  t.deepEqual(unswept(messages, MESSAGES), []);
});

for (const [form, members, parts] of [
  ['responses', RESPONSES, RESPONSE_PARTS],
  ['messages', MESSAGES, MESSAGE_PARTS],
] as const)
  for (const [provider, model] of WIRES) {
    if (form === 'messages' && provider === 'anthropic') continue;
    const base = { model, ...FORMS[form].base };
    test(`${form} over ${provider} ${model}: nothing is lost silently`, (t) => {
      const silent: string[] = [];
      for (const [name, samples] of Object.entries(members))
        for (const [value, needs = {}] of samples) {
          const without = asked(form, provider, { ...base, ...needs });
          const given = asked(form, provider, { ...base, ...needs, [name]: value });
          if (!isAccounted(without, given, name)) silent.push(`${name} ${JSON.stringify(value)}`);
        }
      for (const [title, [without, given, name]] of Object.entries(parts)) {
        const told = asked(form, provider, { ...base, ...given });
        if (!isAccounted(asked(form, provider, { ...base, ...without }), told, name)) silent.push(title);
      }
      t.deepEqual(silent, []);
    });
  }
