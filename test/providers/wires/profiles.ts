// How each provider of OpenAI's wire writes its answers, by its published format and by what was seen of it: one row a
// provider. recorded.ts makes recordings of a row, and wires.test.ts replays them.

/** One provider's way. What is absent is as OpenAI writes it. */
export interface WireProfile {
  /** Where a model's thoughts stand; `think`: in the text, between <think> and </think>, which stays as it is. */
  readonly reasoning?: 'reasoning_content' | 'reasoning' | 'reasoning_details' | 'think' | 'parts';
  /** Its words for why an answer ends. `''`, `null`: it does not say. */
  readonly finish?: {
    readonly stop?: string | null;
    readonly tools?: string | null;
    readonly length?: string;
  };
  /** Where a stream's counts stand: in a chunk without choices, with the finish, in every chunk, in a member of its own, in a choice. */
  readonly usage?: 'last' | 'finish' | 'each' | 'own' | 'choice';
  /** Further members of its counts. */
  readonly counts?: object;
  /** Its stream ends without [DONE]. */
  readonly noDone?: true;
  /** Lines between the events. */
  readonly comment?: string;
  readonly crlf?: true;
  /** `data:` without a space. */
  readonly tight?: true;
  /** Calls in a stream: in one piece each, with arguments as an object, without ids, without indexes, counted from 1. */
  readonly calls?: 'whole' | 'objects' | 'no-id' | 'no-index' | 'from-1';
  /** The first piece has the role alone. */
  readonly roleOnly?: true;
  /** Members of a piece that are null. */
  readonly nulls?: true;
  /** The id of an answer. */
  readonly id?: string;
  /** Members of an answer that OpenAI does not have: they come back as they are. */
  readonly own?: object;
  /** Members of a message that OpenAI does not have. */
  readonly ownMessage?: object;
  readonly logprobs?: true;
  /** A refusal in its own form, and what is read from it. */
  readonly error: readonly [
    status: number,
    body: object | string,
    read: {
      readonly message: string;
      readonly type?: string;
      readonly param?: string;
      readonly code?: string;
    },
  ];
  /** An error with a good status, and what its message says. */
  readonly inside?: readonly [body: object | string, message: RegExp];
}

const said = (message: string, type?: string, code?: string) => ({
  message,
  ...(type === undefined ? {} : { type }),
  ...(code === undefined ? {} : { code }),
});

/** OpenAI's error object, which most have. */
const openai = (
  status: number,
  message: string,
  type = 'invalid_request_error',
  code?: string,
): WireProfile['error'] => [
  status,
  { error: { message, type, param: null, code: code ?? null } },
  said(message, type, code),
];
/** FastAPI's, of servers in Python. */
const fastApi = (status: number, detail: string): WireProfile['error'] => [
  status,
  { detail },
  { message: detail },
];
/** vLLM's: the error at the top. */
const vllmError: WireProfile['error'] = [
  400,
  {
    object: 'error',
    message: 'The model `m` does not exist.',
    type: 'NotFoundError',
    param: null,
    code: 404,
  },
  said('The model `m` does not exist.', 'NotFoundError', '404'),
];
const VLLM = { roleOnly: true, reasoning: 'reasoning_content', ownMessage: { stop_reason: null } } as const;
/** The error without choices in a good status that several Chinese services send. */
const CHINESE = [
  { code: 'InvalidParameter', message: 'Range of input length should be [1, 6000]', request_id: 'r-1' },
  /Range of input length/,
] as const;

/** By identifier. */
export const PROFILES: Readonly<Record<string, WireProfile>> = {
  '302ai': {
    error: [
      401,
      { error: { message: 'Invalid Token', err_code: -10001, type: 'api_error' } },
      said('Invalid Token', 'api_error'),
    ],
    usage: 'finish',
  },
  ai21: {
    usage: 'finish',
    roleOnly: true,
    error: fastApi(401, 'Forbidden: Bad or missing Apikey/JWT.'),
    id: 'chat-1a2b',
    own: { meta: { requestDurationMillis: 12 } },
  },
  aibadgr: { error: openai(401, 'Invalid API key', 'authentication_error', 'invalid_api_key') },
  anyscale: {
    finish: { stop: 'eos' },
    error: openai(400, 'Model does not exist'),
    roleOnly: true,
    nulls: true,
  },
  'azure-openai': {
    own: {
      prompt_filter_results: [
        { prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } },
      ],
    },
    logprobs: true,
    error: [
      404,
      {
        error: {
          code: 'DeploymentNotFound',
          message: 'The API deployment for this resource does not exist.',
        },
      },
      said('The API deployment for this resource does not exist.', undefined, 'DeploymentNotFound'),
    ],
    inside: [{ error: { code: 'content_filter', message: 'The response was filtered' } }, /filtered/],
  },
  bytez: {
    error: [400, { error: 'Model m is not supported', output: null }, said('Model m is not supported')],
    inside: [{ error: 'task timed out', output: null }, /task timed out/],
  },
  cerebras: {
    reasoning: 'reasoning',
    own: { time_info: { queue_time: 0.1, total_time: 0.2 } },
    logprobs: true,
    roleOnly: true,
    error: [
      429,
      {
        message: 'Requests per minute limit exceeded',
        type: 'too_many_requests_error',
        param: 'quota',
        code: 'request_quota_exceeded',
      },
      {
        message: 'Requests per minute limit exceeded',
        type: 'too_many_requests_error',
        param: 'quota',
        code: 'request_quota_exceeded',
      },
    ],
  },
  cometapi: {
    usage: 'each',
    error: [
      401,
      {
        error: { message: 'invalid token (request id: 2026)', type: 'comet_api_error', param: '', code: '' },
      },
      said('invalid token (request id: 2026)', 'comet_api_error'),
    ],
  },
  cortex: {
    finish: { stop: null, tools: null },
    noDone: true,
    usage: 'each',
    error: [
      400,
      { code: '390142', message: 'Incoming request does not contain a valid payload.', request_id: 'r' },
      said('Incoming request does not contain a valid payload.', undefined, '390142'),
    ],
    inside: [{ error: { message: 'model is unavailable', code: 'unavailable' } }, /unavailable/],
  },
  dashscope: {
    reasoning: 'reasoning_content',
    nulls: true,
    usage: 'last',
    error: [
      400,
      {
        error: {
          code: 'invalid_parameter_error',
          param: null,
          message: 'Range of max_tokens should be [1, 8192]',
          type: 'invalid_request_error',
        },
        id: 'c',
        request_id: 'r',
      },
      said('Range of max_tokens should be [1, 8192]', 'invalid_request_error', 'invalid_parameter_error'),
    ],
    inside: CHINESE,
  },
  databricks: {
    calls: 'whole',
    error: [
      404,
      { error_code: 'RESOURCE_DOES_NOT_EXIST', message: "Endpoint 'm' does not exist." },
      said("Endpoint 'm' does not exist.", undefined, 'RESOURCE_DOES_NOT_EXIST'),
    ],
    usage: 'each',
    reasoning: 'parts',
  },
  deepbricks: { error: openai(503, 'Service is too busy', 'server_error') },
  deepinfra: {
    tight: true,
    reasoning: 'reasoning_content',
    counts: { estimated_cost: 0.0000021 },
    error: [
      422,
      {
        detail: [
          { loc: ['body', 'messages'], msg: 'field required', type: 'value_error.missing' },
          { loc: ['body', 'model'], msg: 'none is not allowed', type: 'type_error' },
        ],
      },
      said('field required; none is not allowed'),
    ],
  },
  deepseek: {
    reasoning: 'reasoning_content',
    usage: 'finish',
    comment: ': keep-alive',
    nulls: true,
    counts: { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 7 },
    logprobs: true,
    error: [
      402,
      {
        error: {
          message: 'Insufficient Balance',
          type: 'unknown_error',
          param: null,
          code: 'invalid_request_error',
        },
      },
      said('Insufficient Balance', 'unknown_error', 'invalid_request_error'),
    ],
  },
  'featherless-ai': { ...VLLM, comment: ': FEATHERLESS PROCESSING', error: openai(403, 'Model is gated') },
  'fireworks-ai': {
    usage: 'finish',
    reasoning: 'reasoning_content',
    error: [
      400,
      {
        error: {
          object: 'error',
          type: 'invalid_request_error',
          code: 'invalid_request_error',
          message: 'Extra inputs are not permitted',
        },
      },
      said('Extra inputs are not permitted', 'invalid_request_error', 'invalid_request_error'),
    ],
    logprobs: true,
  },
  github: {
    own: { prompt_filter_results: [] },
    error: [
      401,
      { error: { code: 'unauthorized', message: 'Bad credentials', details: 'Bad credentials' } },
      said('Bad credentials', undefined, 'unauthorized'),
    ],
  },
  groq: {
    reasoning: 'reasoning',
    usage: 'own',
    own: { x_groq: { id: 'req_01' } },
    roleOnly: true,
    calls: 'whole',
    error: [
      400,
      {
        error: {
          message: 'Failed to call a function.',
          type: 'invalid_request_error',
          code: 'tool_use_failed',
          failed_generation: '<x>',
        },
      },
      said('Failed to call a function.', 'invalid_request_error', 'tool_use_failed'),
    ],
  },
  huggingface: {
    finish: { stop: 'eos_token' },
    tight: true,
    error: [
      503,
      { error: 'Model m is currently loading', estimated_time: 20 },
      said('Model m is currently loading'),
    ],
    inside: [
      { error: 'Input validation error: inputs must have less than 4096 tokens', error_type: 'validation' },
      /Input validation error/,
    ],
  },
  hyperbolic: { ...VLLM, error: vllmError, usage: 'each' },
  'inference-net': {
    error: [429, { error: { message: 'Rate limit', code: 429 } }, said('Rate limit', undefined, '429')],
    usage: 'last',
  },
  iointelligence: { ...VLLM, error: fastApi(403, 'Not authenticated') },
  'kluster-ai': {
    ...VLLM,
    error: [
      401,
      { errorMessage: 'no', error: { message: 'Invalid authentication' } },
      said('Invalid authentication'),
    ],
  },
  krutrim: {
    error: [401, { message: 'No API key found in request' }, said('No API key found in request')],
    crlf: true,
  },
  lambda: {
    ...VLLM,
    error: openai(401, 'Incorrect API key provided', 'invalid_request_error', 'invalid_api_key'),
  },
  latitude: { error: openai(404, 'No route'), usage: 'last' },
  'lemonfox-ai': { error: openai(402, 'You need to top up'), usage: 'finish' },
  lepton: { error: [404, { detail: 'not found' }, said('not found')], crlf: true },
  lingyi: {
    usage: 'each',
    error: [
      401,
      { error: { code: 401, message: 'invalid apikey', type: 'invalid_request_error' } },
      said('invalid apikey', 'invalid_request_error', '401'),
    ],
    inside: CHINESE,
  },
  llamacpp: {
    own: { timings: { predicted_ms: 12.5 } },
    reasoning: 'reasoning_content',
    error: [
      500,
      { error: { code: 500, message: 'context shift is disabled', type: 'server_error' } },
      said('context shift is disabled', 'server_error', '500'),
    ],
  },
  lmstudio: {
    own: { stats: {} },
    reasoning: 'reasoning_content',
    error: [
      400,
      { error: 'No models loaded. Please load a model in the developer page.' },
      said('No models loaded. Please load a model in the developer page.'),
    ],
    inside: [{ error: 'Unexpected endpoint or method.' }, /Unexpected endpoint/],
  },
  matterai: { error: openai(401, 'Unauthorized'), reasoning: 'reasoning' },
  'mistral-ai': {
    usage: 'finish',
    calls: 'whole',
    reasoning: 'parts',
    finish: { length: 'model_length' },
    error: [
      422,
      {
        object: 'error',
        message: {
          detail: [{ type: 'extra_forbidden', loc: ['body', 'x'], msg: 'Extra inputs are not permitted' }],
        },
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
      said('Extra inputs are not permitted', 'invalid_request_error'),
    ],
  },
  modal: { ...VLLM, error: vllmError },
  monsterapi: {
    error: [
      400,
      { message: 'Model not supported', code: 400 },
      said('Model not supported', undefined, '400'),
    ],
    noDone: true,
    usage: 'finish',
  },
  moonshot: {
    usage: 'choice',
    reasoning: 'reasoning_content',
    counts: { cached_tokens: 4 },
    roleOnly: true,
    error: [
      400,
      { error: { message: 'Your request exceeded model token limit', type: 'invalid_request_error' } },
      said('Your request exceeded model token limit', 'invalid_request_error'),
    ],
  },
  ncompass: { ...VLLM, error: fastApi(500, 'Internal error') },
  nebius: { ...VLLM, error: fastApi(404, 'The model `m` does not exist.') },
  nextbit: { error: openai(401, 'Invalid key') },
  'novita-ai': {
    ...VLLM,
    error: [
      400,
      { code: 400, reason: 'FAILED_TO_AUTH', message: 'failed to auth', metadata: {} },
      said('failed to auth', undefined, '400'),
    ],
    inside: [
      { code: 404, reason: 'MODEL_NOT_FOUND', message: 'model not found', metadata: {} },
      /model not found/,
    ],
  },
  nscale: {
    ...VLLM,
    error: [
      400,
      { error: { code: 'BAD_REQUEST', message: 'bad model', param: '', type: 'invalid_request_error' } },
      said('bad model', 'invalid_request_error', 'BAD_REQUEST'),
    ],
  },
  ollama: {
    reasoning: 'reasoning',
    calls: 'whole',
    finish: { tools: 'stop' },
    error: [
      404,
      {
        error: {
          message: 'model "m" not found, try pulling it first',
          type: 'api_error',
          param: null,
          code: null,
        },
      },
      said('model "m" not found, try pulling it first', 'api_error'),
    ],
    id: 'chatcmpl-303',
  },
  openai: {
    logprobs: true,
    own: { system_fingerprint: 'fp_1', service_tier: 'default' },
    ownMessage: {
      annotations: [
        {
          type: 'url_citation',
          url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 },
        },
      ],
    },
    error: openai(401, 'Incorrect API key provided', 'invalid_request_error', 'invalid_api_key'),
  },
  'openai-compatible': {
    calls: 'no-id',
    nulls: true,
    error: [
      502,
      '<html><head><title>502 Bad Gateway</title></head><body></body></html>',
      said('502 Bad Gateway'),
    ],
    inside: ['<html><body>maintenance</body></html>', /not JSON/],
  },
  openrouter: {
    comment: ': OPENROUTER PROCESSING',
    reasoning: 'reasoning_details',
    usage: 'last',
    own: { provider: 'DeepInfra' },
    counts: { cost: 0.0001, is_byok: false },
    error: [
      402,
      { error: { message: 'Insufficient credits', code: 402, metadata: {} }, user_id: 'u' },
      said('Insufficient credits', undefined, '402'),
    ],
    inside: [
      { error: { message: 'Provider returned error', code: 502, metadata: { raw: 'x' } } },
      /Provider returned error/,
    ],
  },
  ovhcloud: {
    ...VLLM,
    error: [429, { message: 'API rate limit exceeded', request_id: 'r' }, said('API rate limit exceeded')],
  },
  'perplexity-ai': {
    crlf: true,
    noDone: true,
    usage: 'each',
    own: {
      citations: ['https://a.example'],
      search_results: [{ title: 'A', url: 'https://a.example', date: '2026-01-01' }],
    },
    reasoning: 'think',
    counts: { search_context_size: 'low', cost: { total_cost: 0.006 } },
    error: [
      400,
      { error: { message: "Invalid model 'm'.", type: 'invalid_model', code: 400 } },
      said("Invalid model 'm'.", 'invalid_model', '400'),
    ],
  },
  predibase: {
    finish: { stop: 'eos_token' },
    tight: true,
    error: [
      404,
      { error: 'Deployment not found', error_type: 'not_found' },
      said('Deployment not found', 'not_found'),
    ],
  },
  'reka-ai': {
    finish: { stop: 'stop', length: 'length' },
    error: [403, { detail: 'Access denied.' }, said('Access denied.')],
  },
  sambanova: {
    usage: 'last',
    reasoning: 'reasoning',
    own: { system_fingerprint: 'fastcoe' },
    counts: { time_to_first_token: 0.2, total_latency: 1.5 },
    roleOnly: true,
    error: [
      429,
      { error: { code: null, message: 'Rate limit exceeded', param: null, type: 'rate_limit_exceeded' } },
      said('Rate limit exceeded', 'rate_limit_exceeded'),
    ],
  },
  siliconflow: {
    reasoning: 'reasoning_content',
    usage: 'each',
    nulls: true,
    error: [
      400,
      { code: 20012, message: 'Model does not exist.', data: null },
      said('Model does not exist.', undefined, '20012'),
    ],
    inside: [{ code: 20012, message: 'Model does not exist.', data: null }, /Model does not exist/],
  },
  'together-ai': {
    finish: { stop: 'eos' },
    usage: 'finish',
    reasoning: 'reasoning',
    own: { prompt: [] },
    logprobs: true,
    error: [
      404,
      {
        id: 'o',
        error: {
          message: 'Unable to access model m',
          type: 'invalid_request_error',
          param: null,
          code: 'model_not_available',
        },
      },
      said('Unable to access model m', 'invalid_request_error', 'model_not_available'),
    ],
  },
  upstage: { reasoning: 'reasoning', error: openai(400, 'This model is not available'), usage: 'last' },
  vllm: { ...VLLM, calls: 'no-index', error: vllmError, own: { prompt_logprobs: null } },
  'workers-ai': {
    calls: 'objects',
    noDone: true,
    usage: 'finish',
    own: { response: '' },
    error: [
      400,
      { errors: [{ message: 'AiError: Bad input', code: 5006 }], success: false, result: {}, messages: [] },
      said('AiError: Bad input', undefined, '5006'),
    ],
    inside: [
      {
        success: false,
        errors: [{ code: 7000, message: 'No route for that URI' }],
        messages: [],
        result: null,
      },
      /No route for that URI/,
    ],
  },
  'x-ai': {
    reasoning: 'reasoning_content',
    usage: 'last',
    counts: { num_sources_used: 0, completion_tokens_details: { reasoning_tokens: 3 } },
    own: { citations: ['https://a.example'] },
    error: [
      400,
      { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xx.' },
      said('Incorrect API key provided: xx.', undefined, 'Client specified an invalid argument'),
    ],
  },
  xinference: {
    calls: 'whole',
    id: 'chat1',
    error: fastApi(400, 'Model not found in the model list, uid: m'),
    usage: 'finish',
  },
  'z-ai': {
    reasoning: 'reasoning_content',
    usage: 'finish',
    finish: { length: 'model_context_window_exceeded' },
    calls: 'whole',
    error: [
      429,
      { error: { code: '1302', message: 'High concurrency usage of this API' } },
      said('High concurrency usage of this API', undefined, '1302'),
    ],
  },
  zhipu: {
    reasoning: 'reasoning_content',
    usage: 'finish',
    calls: 'from-1',
    finish: { stop: 'stop' },
    own: { request_id: '8', web_search: [{ title: 'A', link: 'https://a.example' }] },
    error: [
      400,
      {
        error: { code: '1214', message: 'messages: must not be empty' },
        contentFilter: [{ level: 1, role: 'user' }],
      },
      said('messages: must not be empty', undefined, '1214'),
    ],
    inside: CHINESE,
  },
};
