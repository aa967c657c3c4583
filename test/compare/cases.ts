// What both gateways are asked, and where they are known to differ: then with the reason, which is ours.

/** One request, in words that both gateways read: headers without their prefix. */
export interface CompareCase {
  readonly name: string;
  readonly verb?: string;
  /** After /v1. */
  readonly path?: string;
  /** `HOST` stands for the provider's address, `DEAD` for one where nobody listens. */
  readonly config?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Asked so many times; the last answer is compared. */
  readonly times?: number;
  /** What is compared beside the status; all by default. */
  readonly compare?: readonly Part[];
  /** Why ours is another answer, knowingly. */
  readonly differs?: string;
}

/** `calls`: how often the provider was called; `sent`: the last body that it was sent. */
export type Part = 'body' | 'calls' | 'sent' | 'headers';

const target = (more: object = {}): object => ({
  provider: 'openai',
  api_key: 'sk-target',
  custom_host: 'HOST',
  ...more,
});
const as = (model: string, more: object = {}): object => target({ override_params: { model }, ...more });
const dead = (): object => ({ ...target(), custom_host: 'DEAD' });
const fallback = (targets: readonly object[], codes?: readonly number[]): object => ({
  strategy: { mode: 'fallback', ...(codes ? { on_status_codes: codes } : {}) },
  targets,
});
const chat = (more: object = {}): object => ({
  model: 'gpt-ok',
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
});
const check = (id: string, parameters: object, deny: boolean, where = 'input_guardrails'): object =>
  target({ [where]: [{ [id]: parameters, deny }] });

const CONDITIONS = (query: object): object => ({
  // biome-ignore lint/suspicious/noThenProperty: a config's own word, never awaited
  strategy: { mode: 'conditional', conditions: [{ query, then: 'a' }], default: 'b' },
  targets: [as('model-a', { name: 'a' }), as('model-b', { name: 'b' })],
});

export const CASES: readonly CompareCase[] = [
  { name: 'a whole answer', config: target() },
  {
    name: 'a tool call',
    config: target(),
    body: chat({ tools: [{ type: 'function', function: { name: 'weather' } }] }),
  },
  {
    name: 'text completion',
    path: '/completions',
    config: target(),
    body: { model: 'gpt-ok', prompt: 'hi' },
  },
  {
    name: 'embeddings',
    path: '/embeddings',
    config: target(),
    body: { model: 'e', input: ['a', 'b'] },
    differs: 'there: 500 with the current versions of its own dependencies',
  },
  { name: 'override_params', config: as('other') },
  { name: 'an unknown provider', headers: { provider: 'nobody' }, compare: [] },
  { name: 'no provider', headers: {}, compare: [] },
  {
    name: 'a config that is no JSON',
    headers: { config: '{' },
    compare: [],
    differs: 'there: 500 or taken for an id; here: 400',
  },
  { name: 'an unknown strategy', config: { strategy: { mode: 'dice' }, targets: [target()] }, compare: [] },

  { name: 'a provider’s 400', config: target(), body: chat({ model: 'status-400' }), compare: ['calls'] },
  { name: 'a provider’s 404', config: target(), body: chat({ model: 'status-404' }), compare: ['calls'] },
  { name: 'a provider’s 500', config: target(), body: chat({ model: 'status-500' }), compare: ['calls'] },
  {
    name: 'nobody listens',
    config: dead(),
    compare: [],
    differs: 'an unreachable upstream is 502, never 500',
  },
  {
    name: 'garbage with 200',
    config: target(),
    body: chat({ model: 'garbage' }),
    compare: [],
    differs: 'an upstream that talks garbage is 502, never 500',
  },

  { name: 'fallback past a 500', config: fallback([as('status-500'), as('gpt-ok')]) },
  { name: 'fallback past a 429', config: fallback([as('status-429'), as('gpt-ok')]) },
  { name: 'fallback past a 400', config: fallback([as('status-400'), as('gpt-ok')]) },
  {
    name: 'fallback on listed codes only',
    config: fallback([as('status-500'), as('gpt-ok')], [429]),
    compare: ['calls'],
  },
  { name: 'fallback on a listed code', config: fallback([as('status-429'), as('gpt-ok')], [429]) },
  {
    name: 'fallback, all fail',
    config: fallback([as('status-500'), as('status-503')]),
    compare: ['calls', 'headers'],
  },
  { name: 'fallback past nobody', config: fallback([dead(), as('gpt-ok')]) },
  { name: 'fallback of three', config: fallback([as('status-500'), as('status-502'), as('gpt-ok')]) },
  {
    name: 'fallback inside of fallback',
    config: fallback([fallback([as('status-500'), as('status-503')]), as('gpt-ok')]),
  },
  {
    name: 'balance with a weight of zero',
    config: {
      strategy: { mode: 'loadbalance' },
      targets: [as('status-500', { weight: 0 }), as('gpt-ok', { weight: 1 })],
    },
    times: 8,
  },
  { name: 'single', config: { strategy: { mode: 'single' }, targets: [as('gpt-ok')] } },

  {
    name: 'condition on metadata, met',
    config: CONDITIONS({ 'metadata.tier': { $eq: 'gold' } }),
    headers: { metadata: '{"tier":"gold"}' },
  },
  {
    name: 'condition on metadata, not met',
    config: CONDITIONS({ 'metadata.tier': { $eq: 'gold' } }),
    headers: { metadata: '{"tier":"tin"}' },
  },
  {
    name: 'condition $in',
    config: CONDITIONS({ 'metadata.tier': { $in: ['gold', 'silver'] } }),
    headers: { metadata: '{"tier":"silver"}' },
  },
  {
    name: 'condition $nin',
    config: CONDITIONS({ 'metadata.tier': { $nin: ['gold'] } }),
    headers: { metadata: '{"tier":"gold"}' },
  },
  {
    name: 'condition $ne',
    config: CONDITIONS({ 'metadata.tier': { $ne: 'gold' } }),
    headers: { metadata: '{"tier":"tin"}' },
  },
  {
    name: 'condition $gt on params',
    config: CONDITIONS({ 'params.max_tokens': { $gt: 100 } }),
    body: chat({ max_tokens: 200 }),
  },
  {
    name: 'condition $lte on params',
    config: CONDITIONS({ 'params.max_tokens': { $lte: 100 } }),
    body: chat({ max_tokens: 100 }),
  },
  {
    name: 'condition $regex',
    config: CONDITIONS({ 'metadata.user': { $regex: '^a.*z$' } }),
    headers: { metadata: '{"user":"abcz"}' },
  },
  {
    name: 'condition $and',
    config: CONDITIONS({ $and: [{ 'metadata.a': { $eq: '1' } }, { 'metadata.b': { $eq: '2' } }] }),
    headers: { metadata: '{"a":"1","b":"2"}' },
  },
  {
    name: 'condition $or',
    config: CONDITIONS({ $or: [{ 'metadata.a': { $eq: '9' } }, { 'metadata.b': { $eq: '2' } }] }),
    headers: { metadata: '{"a":"1","b":"2"}' },
  },

  {
    name: 'retry to a success',
    config: target({ retry: { attempts: 3 } }),
    body: chat({ model: 'flaky-2-RUN' }),
    compare: ['calls'],
  },
  {
    name: 'retries that do not suffice',
    config: target({ retry: { attempts: 1 } }),
    body: chat({ model: 'flaky-5-RUN' }),
    compare: ['calls'],
  },
  {
    name: 'no retry of a code that is not listed',
    config: target({ retry: { attempts: 3, on_status_codes: [503] } }),
    body: chat({ model: 'status-500' }),
    compare: ['calls'],
  },
  {
    name: 'a timeout',
    config: target({ request_timeout: 150 }),
    body: chat({ model: 'slow-2000' }),
    compare: [],
  },
  {
    name: 'a timeout that falls back',
    config: fallback([as('slow-2000', { request_timeout: 150 }), as('gpt-ok')]),
  },

  {
    name: 'cache, the second time',
    config: target({ cache: { mode: 'simple' } }),
    body: chat({ user: 'RUN-cache' }),
    times: 2,
    differs: 'there the cache needs a store that this package does not start with',
  },

  {
    name: 'guardrail denies',
    config: check('default.contains', { words: ['hi'], operator: 'none' }, true),
    compare: ['calls'],
  },
  {
    name: 'guardrail passes',
    config: check('default.contains', { words: ['hi'], operator: 'any' }, true),
    compare: ['calls', 'sent'],
  },
  {
    name: 'guardrail fails and does not deny',
    config: check('default.contains', { words: ['hi'], operator: 'none' }, false),
    compare: [],
    differs: 'there: 500 on the wire; its documents and ours: 246',
  },
  { name: 'regexMatch', config: check('default.regexMatch', { rule: '^h' }, true), compare: ['calls'] },
  {
    name: 'wordCount',
    config: check('default.wordCount', { minWords: 5, maxWords: 9 }, true),
    compare: ['calls'],
  },
  {
    name: 'characterCount',
    config: check('default.characterCount', { minCharacters: 1, maxCharacters: 9 }, true),
    compare: ['calls'],
  },
  { name: 'allUppercase', config: check('default.alluppercase', {}, true), compare: ['calls'] },
  { name: 'endsWith', config: check('default.endsWith', { suffix: 'i' }, true), compare: ['calls'] },
  {
    name: 'output guardrail denies',
    config: check(
      'default.contains',
      { words: ['nothing of it'], operator: 'all' },
      true,
      'output_guardrails',
    ),
    compare: ['calls'],
  },

  {
    name: 'forward_headers',
    config: target(),
    headers: { 'forward-headers': 'x-mine', '!x-mine': 'yes' },
    compare: ['calls'],
  },
  {
    name: 'pass-through POST',
    path: '/proxy/odd/place',
    config: target(),
    body: { a: 1 },
    compare: ['calls', 'sent'],
  },
  {
    name: 'pass-through GET',
    verb: 'GET',
    path: '/proxy/models',
    config: target(),
    compare: ['body', 'calls'],
    differs: 'there: 500, a config is not read without a body',
  },
  {
    name: 'pass-through DELETE',
    verb: 'DELETE',
    path: '/proxy/files/file-1',
    config: target(),
    compare: ['calls'],
  },
];
