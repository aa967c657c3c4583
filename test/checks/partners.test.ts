// Checks that ask partners' services, against servers that speak their contracts.
import test from 'ava';
import { CHECKS } from '../../src/checks/registry.ts';
import type { Event, JsonObject } from '../../src/checks/view/traffic.ts';
import { answering, answerJson, bench, faultsOf, listen, runHooks, runOne, saying } from './try-out.ts';

const SECRET = 'partner-secret';

interface Partner {
  readonly id: string;
  readonly event?: Event;
  readonly credentials?: JsonObject;
  readonly parameters?: JsonObject;
  readonly path: string | RegExp;
  readonly header: readonly [string, string | RegExp];
  readonly body: JsonObject;
  readonly passes: JsonObject;
  readonly fails: JsonObject;
}

const evaluated = (pass: boolean): JsonObject => ({
  results: [{ status: 'success', evaluation_result: { pass, score_raw: 1, explanation: null } }],
});
const AWS = { awsRegion: 'us-east-1', awsAccessKeyId: 'AKIA', awsSecretAccessKey: SECRET };
const content = [{ text: { text: 'hello' } }];

const PARTNERS: readonly Partner[] = [
  {
    id: 'azure.contentSafety',
    parameters: { severity: 4, categories: ['Hate'], blocklistNames: ['mine'] },
    path: '/contentsafety/text:analyze?api-version=2024-09-01',
    header: ['ocp-apim-subscription-key', SECRET],
    body: { text: 'hello', categories: ['Hate'], blocklistNames: ['mine'], outputType: 'FourSeverityLevels' },
    passes: { categoriesAnalysis: [{ category: 'Hate', severity: 2 }], blocklistsMatch: [] },
    fails: { categoriesAnalysis: [{ category: 'Hate', severity: 4 }] },
  },
  {
    id: 'azure.shieldPrompt',
    path: '/contentsafety/text:shieldPrompt?api-version=2024-09-01',
    header: ['ocp-apim-subscription-key', SECRET],
    body: { userPrompt: 'hello', documents: [] },
    passes: { userPromptAnalysis: { attackDetected: false }, documentsAnalysis: [] },
    fails: { userPromptAnalysis: { attackDetected: true } },
  },
  {
    id: 'azure.protectedMaterial',
    event: 'output',
    path: '/contentsafety/text:detectProtectedMaterial?api-version=2024-09-01',
    header: ['ocp-apim-subscription-key', SECRET],
    body: { text: 'hello' },
    passes: { protectedMaterialAnalysis: { detected: false } },
    fails: { protectedMaterialAnalysis: { detected: true } },
  },
  {
    id: 'azure.pii',
    path: '/language/:analyze-text?api-version=2024-11-01',
    header: ['ocp-apim-subscription-key', SECRET],
    body: {
      kind: 'PiiEntityRecognition',
      parameters: { domain: 'none', modelVersion: 'latest' },
      analysisInput: { documents: [{ id: '1', text: 'hello', language: 'en' }] },
    },
    passes: { results: { documents: [{ id: '1', redactedText: 'hello', entities: [] }] } },
    fails: {
      results: { documents: [{ id: '1', redactedText: '*****', entities: [{ category: 'Person' }] }] },
    },
  },
  {
    id: 'bedrock.guard',
    credentials: AWS,
    parameters: { guardrailId: 'g1', guardrailVersion: 'DRAFT' },
    path: '/guardrail/g1/version/DRAFT/apply',
    header: ['authorization', /^AWS4-HMAC-SHA256 Credential=AKIA\/\d{8}\/us-east-1\/bedrock\/aws4_request/],
    body: { source: 'INPUT', content },
    passes: { action: 'NONE', outputs: [], assessments: [] },
    fails: {
      action: 'GUARDRAIL_INTERVENED',
      outputs: [{ text: 'no' }],
      assessments: [{ topicPolicy: { topics: [{ action: 'BLOCKED' }] } }],
    },
  },
  {
    id: 'mistral.moderateContent',
    parameters: { categories: ['sexual'] },
    path: '/v1/moderations',
    header: ['authorization', `Bearer ${SECRET}`],
    body: { model: 'mistral-moderation-latest', input: ['hello'] },
    passes: { results: [{ categories: { sexual: false, pii: true } }] },
    fails: { results: [{ categories: { sexual: true } }] },
  },
  {
    id: 'patronus.toxicity',
    event: 'output',
    path: '/v1/evaluate',
    header: ['x-api-key', SECRET],
    body: {
      evaluators: [{ explain_strategy: 'always', evaluator: 'toxicity' }],
      evaluated_model_input: 'Hello there',
      evaluated_model_output: 'hello',
    },
    passes: evaluated(true),
    fails: evaluated(false),
  },
  {
    id: 'patronus.custom',
    event: 'output',
    parameters: { profile: 'mine:is-good' },
    path: '/v1/evaluate',
    header: ['x-api-key', SECRET],
    body: {
      evaluators: [{ explain_strategy: 'always', evaluator: 'judge', criteria: 'mine:is-good' }],
      evaluated_model_input: 'Hello there',
      evaluated_model_output: 'hello',
    },
    passes: evaluated(true),
    fails: evaluated(false),
  },
  {
    id: 'pangea.textGuard',
    parameters: { recipe: 'pangea_prompt_guard' },
    path: '/v1/text/guard',
    header: ['authorization', `Bearer ${SECRET}`],
    body: { text: 'hello', recipe: 'pangea_prompt_guard' },
    passes: { status: 'Success', result: { detectors: { prompt_injection: { detected: false } } } },
    fails: { status: 'Success', result: { detectors: { prompt_injection: { detected: true } } } },
  },
  {
    id: 'pangea.pii',
    path: '/v1/redact',
    header: ['authorization', `Bearer ${SECRET}`],
    body: { text: 'hello' },
    passes: { status: 'Success', result: { count: 0, redacted_text: 'hello' } },
    fails: { status: 'Success', result: { count: 1, redacted_text: '<PERSON>' } },
  },
  {
    id: 'promptsecurity.protectPrompt',
    path: '/api/protect',
    header: ['app-id', SECRET],
    body: { prompt: 'hello' },
    passes: { result: { prompt: { passed: true, violations: [] } } },
    fails: { result: { prompt: { passed: false, violations: ['Secrets'] } } },
  },
  {
    id: 'promptsecurity.protectResponse',
    event: 'output',
    path: '/api/protect',
    header: ['app-id', SECRET],
    body: { response: 'hello' },
    passes: { result: { response: { passed: true } } },
    fails: { result: { response: { passed: false } } },
  },
  {
    id: 'lakera.guard',
    parameters: { projectId: 'p1' },
    path: '/v2/guard',
    header: ['authorization', `Bearer ${SECRET}`],
    body: { messages: [{ role: 'user', content: 'hello' }], project_id: 'p1', breakdown: true },
    passes: { flagged: false },
    fails: { flagged: true, breakdown: [] },
  },
  {
    id: 'aporia.validateProject',
    parameters: { projectID: 'p 1' },
    path: '/p%201/validate',
    header: ['x-aporia-api-key', SECRET],
    body: { messages: [{ role: 'user', content: 'hello' }], validation_target: 'prompt', explain: true },
    passes: { action: 'passthrough' },
    fails: { action: 'block', explain_log: [] },
  },
];

const trafficOf = ({ event }: Partner) => (event === 'output' ? answering('hello') : saying('hello'));

for (const partner of PARTNERS) {
  const { id, credentials = { apiKey: SECRET }, parameters = {}, path, header, body } = partner;

  test(`${id}: its contract, and both verdicts`, async (t) => {
    const checks = bench(t);
    for (const [answer, verdict] of [
      [partner.passes, true],
      [partner.fails, false],
    ] as const) {
      const { url, asked } = await listen(t, (_, response) => answerJson(response, answer));
      const given = { ...parameters, credentials: { ...credentials, endpoint: url } };
      const result = await runOne(checks, trafficOf(partner), id, given);
      t.is(result.error, undefined);
      t.is(result.verdict, verdict);
      t.notRegex(JSON.stringify(result), /secret/);
      t.is(asked.length, 1);
      if (typeof path === 'string') t.is(asked[0]?.path, path);
      const sent = String(asked[0]?.headers[header[0]]);
      if (typeof header[1] === 'string') t.is(sent, header[1]);
      else t.regex(sent, header[1]);
      t.deepEqual(JSON.parse(asked[0]?.body ?? ''), body);
    }
  });

  test(`${id}: on_error decides about a service that is down, slow, or talks garbage`, async (t) => {
    const checks = bench(t);
    for (const [name, answer] of [
      ['CallFailedError', (response: Parameters<typeof answerJson>[0]) => answerJson(response, {}, 503)],
      ['InvalidResponseError', (response: Parameters<typeof answerJson>[0]) => answerJson(response, {})],
      ['TimeoutError', () => {}],
    ] as const) {
      const { url } = await listen(t, (_, response) => answer(response));
      const timeout = name === 'TimeoutError' ? 50 : 20_000;
      const given = { ...parameters, timeout, credentials: { ...credentials, endpoint: url } };
      const open = await runOne(checks, trafficOf(partner), id, given);
      t.true(open.verdict, name);
      t.is(open.error?.name, name);
      const closed = await runOne(checks, trafficOf(partner), id, { ...given, onError: 'fail' });
      t.false(closed.verdict, name);
    }
  });
}

test('what is found is taken out where redact asks for it', async (t) => {
  const checks = bench(t);
  const { url } = await listen(t, (_, response) =>
    answerJson(response, { status: 'Success', result: { count: 1, redacted_text: 'I am <PERSON>' } }),
  );
  const credentials = { apiKey: SECRET, endpoint: url };
  const { request } = await runHooks(checks, saying('I am Ada'), {
    'pangea.pii': { redact: true, credentials },
  });
  t.like(request, { messages: [{ content: 'I am <PERSON>' }] });
});

test('an address that the egress rules refuse is not called', async (t) => {
  const checks = bench(t, { allow: '10.0.0.0/8' });
  const { url, asked } = await listen(t, (_, response) => answerJson(response, { flagged: false }));
  const result = await runOne(checks, saying('hello'), 'lakera.guard', {
    credentials: { apiKey: SECRET, endpoint: url },
  });
  t.is(result.error?.name, 'CallFailedError');
  t.is(asked.length, 0);
});

test('missing and malformed parameters are named', (t) => {
  t.regex(faultsOf('input', { 'lakera.guard': {} }).join(), /credentials.* is required/);
  t.regex(
    faultsOf('input', { 'aporia.validateProject': { credentials: { apiKey: 'k' } } }).join(),
    /projectID.* is required/,
  );
  t.regex(
    faultsOf('input', {
      'azure.contentSafety': { credentials: { apiKey: 'k', resourceName: 'a/b' } },
    }).join(),
    /resourceName.* host name/,
  );
  t.regex(
    faultsOf('input', { 'azure.protectedMaterial': { credentials: { apiKey: 'k' } } }).join(),
    /cannot run on the input/,
  );
  for (const family of [
    'azure',
    'bedrock',
    'mistral',
    'patronus',
    'pangea',
    'promptsecurity',
    'lakera',
    'aporia',
  ])
    t.true(
      CHECKS.some(({ id }) => id.startsWith(`${family}.`)),
      family,
    );
});
