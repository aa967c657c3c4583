// Partners' answers as their documents show them, whole: flags, categories, severities, errors; and texts that are longer
// than a service takes.
import test from 'ava';
import { partsOf } from '../../src/checks/partners/long-texts.ts';
import type { Event, JsonObject } from '../../src/checks/view/traffic.ts';
import { answering, answerJson, bench, listen, runHooks, runOne, saying } from './try-out.ts';

const KEY = 'partner-secret';

interface Recording {
  readonly id: string;
  readonly says: string;
  readonly event?: Event;
  readonly parameters?: JsonObject;
  readonly credentials?: JsonObject;
  readonly answer: JsonObject;
  readonly verdict: boolean;
  /** Of the result's data. */
  readonly data: JsonObject;
}

const severities = (hate: number, violence: number): JsonObject => ({
  blocklistsMatch: [],
  categoriesAnalysis: [
    { category: 'Hate', severity: hate },
    { category: 'SelfHarm', severity: 0 },
    { category: 'Sexual', severity: 0 },
    { category: 'Violence', severity: violence },
  ],
});
const AWS = { awsRegion: 'us-east-1', awsAccessKeyId: 'AKIA', awsSecretAccessKey: KEY };
const GUARD = { guardrailId: 'g1', guardrailVersion: '1' };
const MISTRAL = (flagged: readonly string[]): JsonObject => {
  const names = [
    'sexual',
    'hate_and_discrimination',
    'violence_and_threats',
    'dangerous_and_criminal_content',
    'selfharm',
    'health',
    'financial',
    'law',
    'pii',
  ];
  return {
    id: 'mod-1',
    model: 'mistral-moderation-2411',
    results: [
      {
        categories: Object.fromEntries(names.map((name) => [name, flagged.includes(name)])),
        category_scores: Object.fromEntries(names.map((name) => [name, flagged.includes(name) ? 0.9 : 0.01])),
      },
    ],
  };
};

const RECORDINGS: readonly Recording[] = [
  {
    id: 'azure.contentSafety',
    says: 'severities below the bound',
    answer: severities(0, 0),
    verdict: true,
    data: { blocklistsMatch: [] },
  },
  {
    id: 'azure.contentSafety',
    says: 'a severity at the bound',
    answer: severities(2, 0),
    verdict: false,
    data: { blocklistsMatch: [] },
  },
  {
    id: 'azure.contentSafety',
    says: 'a higher bound',
    parameters: { severity: 6 },
    answer: severities(4, 4),
    verdict: true,
    data: { blocklistsMatch: [] },
  },
  {
    id: 'azure.contentSafety',
    says: 'a word of a blocklist',
    parameters: { blocklistNames: ['mine'] },
    answer: {
      ...severities(0, 0),
      blocklistsMatch: [{ blocklistName: 'mine', blocklistItemId: 'i', blocklistItemText: 'word' }],
    },
    verdict: false,
    data: { blocklistsMatch: ['mine'] },
  },
  {
    id: 'azure.shieldPrompt',
    says: 'an attack',
    answer: { userPromptAnalysis: { attackDetected: true }, documentsAnalysis: [] },
    verdict: false,
    data: { attackDetected: true },
  },
  {
    id: 'bedrock.guard',
    says: 'a topic that is denied',
    credentials: AWS,
    parameters: GUARD,
    answer: {
      usage: { topicPolicyUnits: 1, contentPolicyUnits: 1, wordPolicyUnits: 1 },
      action: 'GUARDRAIL_INTERVENED',
      actionReason: 'Guardrail blocked.',
      outputs: [{ text: 'Sorry, the model cannot answer this question.' }],
      assessments: [
        {
          topicPolicy: { topics: [{ name: 'Advice', type: 'DENY', action: 'BLOCKED', detected: true }] },
          invocationMetrics: { guardrailProcessingLatency: 100 },
        },
      ],
      guardrailCoverage: { textCharacters: { guarded: 5, total: 5 } },
    },
    verdict: false,
    data: { action: 'GUARDRAIL_INTERVENED' },
  },
  {
    id: 'bedrock.guard',
    says: 'nothing found',
    credentials: AWS,
    parameters: GUARD,
    answer: { usage: {}, action: 'NONE', actionReason: 'No action.', outputs: [], assessments: [{}] },
    verdict: true,
    data: { action: 'NONE' },
  },
  {
    id: 'mistral.moderateContent',
    says: 'two categories',
    answer: MISTRAL(['pii', 'law']),
    verdict: false,
    data: { flaggedCategories: ['law', 'pii'] },
  },
  {
    id: 'mistral.moderateContent',
    says: 'a category that is not asked for',
    parameters: { categories: ['sexual'] },
    answer: MISTRAL(['law']),
    verdict: true,
    data: { flaggedCategories: [] },
  },
  {
    id: 'patronus.toxicity',
    says: 'an evaluation that fails',
    event: 'output',
    answer: {
      results: [
        {
          evaluator_id: 'toxicity-2024-10-27',
          profile_name: null,
          status: 'success',
          error_message: null,
          evaluation_result: {
            id: '1',
            pass: false,
            score_raw: 0.98,
            score_normalized: 0.02,
            explanation: 'toxic',
            evaluation_duration: 'PT0.1S',
          },
        },
      ],
    },
    verdict: false,
    data: { pass: false, score: 0.98 },
  },
  {
    id: 'pangea.textGuard',
    says: 'a prompt injection',
    answer: {
      request_id: 'prq_1',
      status: 'Success',
      summary: 'Malicious Prompt was detected and blocked.',
      result: {
        blocked: true,
        recipe: 'pangea_prompt_guard',
        prompt_text: 'x',
        detectors: {
          prompt_injection: {
            detected: true,
            data: { action: 'blocked', analyzer_responses: [{ analyzer: 'PA4002', confidence: 1 }] },
          },
          topic: { detected: false, data: null },
        },
      },
    },
    verdict: false,
    data: { detected: ['prompt_injection'], blocked: true },
  },
  {
    id: 'promptsecurity.protectPrompt',
    says: 'a secret',
    answer: {
      status: 'success',
      result: {
        action: 'block',
        prompt: {
          action: 'block',
          passed: false,
          violations: ['Secrets'],
          findings: { Secrets: [{ entity: 'x' }] },
          modified_text: null,
        },
        response: null,
      },
    },
    verdict: false,
    data: { passed: false, violations: ['Secrets'] },
  },
  {
    id: 'lakera.guard',
    says: 'an attack, with its breakdown',
    answer: {
      flagged: true,
      breakdown: [
        {
          project_id: 'p',
          policy_id: 'q',
          detector_id: 'd',
          detector_type: 'prompt_attack',
          detected: true,
          message_id: 0,
        },
      ],
      metadata: { request_uuid: 'u' },
    },
    verdict: false,
    data: { flagged: true },
  },
  {
    id: 'aporia.validateProject',
    says: 'a text that would be rephrased',
    parameters: { projectID: 'p' },
    answer: {
      action: 'rephrase',
      revised_response: 'x',
      explain_log: [{ policy_id: '1', target: 'response', result: 'issue_detected', details: {} }],
      policy_execution_result: {},
    },
    verdict: false,
    data: { action: 'rephrase' },
  },
];

for (const {
  id,
  says,
  event,
  parameters = {},
  credentials = { apiKey: KEY },
  answer,
  verdict,
  data,
} of RECORDINGS)
  test(`${id}: ${says}`, async (t) => {
    const { url } = await listen(t, (_, response) => answerJson(response, answer));
    const given = { ...parameters, credentials: { ...credentials, endpoint: url } };
    const result = await runOne(
      bench(t),
      event === 'output' ? answering('hello') : saying('hello'),
      id,
      given,
    );
    t.is(result.error, undefined);
    t.is(result.verdict, verdict);
    t.like(result.data, data);
  });

/** Refusals as the services send them; none of their words is told, for they may repeat the text. */
const REFUSALS: readonly (readonly [
  id: string,
  parameters: JsonObject,
  status: number,
  body: JsonObject,
  error: string,
])[] = [
  [
    'azure.contentSafety',
    {},
    401,
    { error: { code: '401', message: 'Access denied due to invalid subscription key: hello' } },
    'CallFailedError',
  ],
  [
    'azure.pii',
    {},
    200,
    {
      kind: 'PiiEntityRecognitionResults',
      results: { documents: [], errors: [{ id: '1', error: { code: 'InvalidArgument', message: 'hello' } }] },
    },
    'InvalidResponseError',
  ],
  ['mistral.moderateContent', {}, 429, { message: 'Requests rate limit exceeded: hello' }, 'CallFailedError'],
  [
    'pangea.textGuard',
    {},
    202,
    { status: 'Accepted', result: { location: 'https://x' }, summary: 'hello' },
    'InvalidResponseError',
  ],
  [
    'promptsecurity.protectPrompt',
    {},
    200,
    { status: 'failed', reason: 'hello', result: null },
    'InvalidResponseError',
  ],
  ['lakera.guard', {}, 400, { error: { code: 400, message: 'hello' } }, 'CallFailedError'],
  ['aporia.validateProject', { projectID: 'p' }, 404, { detail: 'hello' }, 'CallFailedError'],
];
for (const [id, parameters, status, body, error] of REFUSALS)
  test(`${id}: a refusal with status ${status}`, async (t) => {
    const { url } = await listen(t, (_, response) => answerJson(response, body, status));
    const credentials = { apiKey: KEY, endpoint: url };
    const result = await runOne(bench(t), saying('hello'), id, { ...parameters, credentials });
    t.true(result.verdict);
    t.is(result.error?.name, error);
    t.notRegex(result.error?.message ?? '', /hello/);
    if (error === 'CallFailedError') t.regex(result.error?.message ?? '', new RegExp(`status ${status}`));
    const closed = await runOne(bench(t), saying('hello'), id, {
      ...parameters,
      credentials,
      onError: 'fail',
    });
    t.false(closed.verdict);
  });

test('a text that is longer than the service takes is asked about in parts, the last one too', async (t) => {
  const seen: string[] = [];
  const { url } = await listen(t, (request, response) => {
    const { text } = JSON.parse(request.body) as { text: string };
    seen.push(text);
    answerJson(response, severities(text.includes('FORBIDDEN') ? 6 : 0, 0));
  });
  const credentials = { apiKey: KEY, endpoint: url };
  const words = 'word '.repeat(5000);
  t.true((await runOne(bench(t), saying(words), 'azure.contentSafety', { credentials })).verdict);
  t.true(seen.length > 2);
  t.true(seen.every(({ length }) => length <= 10_000));
  const long = await runOne(bench(t), saying(`${words}FORBIDDEN`), 'azure.contentSafety', { credentials });
  t.false(long.verdict);
});

test('personal data is taken out of each part', async (t) => {
  const { url } = await listen(t, (request, response) => {
    const { analysisInput } = JSON.parse(request.body) as {
      analysisInput: { documents: { text: string }[] };
    };
    const { text } = analysisInput.documents[0]!;
    const entities = text.includes('Ada') ? [{ category: 'Person' }] : [];
    answerJson(response, {
      results: { documents: [{ id: '1', redactedText: text.replaceAll('Ada', '***'), entities }] },
    });
  });
  const text = `${'word '.repeat(2000)}Ada ${'word '.repeat(2000)}Ada`;
  const { request } = await runHooks(bench(t), saying(text), {
    'azure.pii': { redact: true, credentials: { apiKey: KEY, endpoint: url } },
  });
  t.like(request, { messages: [{ content: text.replaceAll('Ada', '***') }] });
});

test('parts are the text, and cut no character', (t) => {
  const text = `${'👋'.repeat(300)} ${'ab '.repeat(300)}`;
  for (const longest of [7, 50, 101, 5000]) {
    t.is(partsOf(text, longest, false).join(''), text);
    for (const part of [...partsOf(text, longest, false), ...partsOf(text, longest + 300, true)])
      t.true(part.isWellFormed());
  }
});
