// Patronus AI's evaluators (Patronus API, POST /v1/evaluate).
import type { Check } from '../contract/check.ts';
import { required, text } from '../contract/fields.ts';
import { isObject } from '../contract/parameters.ts';
import type { JsonObject } from '../view/traffic.ts';
import { credentials, endpoint, key } from './fields.ts';
import { definePartner, type Judgement, type Question, unreadable } from './partner.ts';

const CREDENTIALS = { credentials: credentials({ apiKey: key, endpoint }) };

interface Given {
  readonly apiKey: string;
  readonly endpoint: string | undefined;
}

function question(given: Given, evaluator: JsonObject, input: string, output: string): Question {
  return {
    url: `${given.endpoint?.replace(/\/+$/, '') ?? 'https://api.patronus.ai'}/v1/evaluate`,
    headers: { 'x-api-key': given.apiKey },
    body: {
      evaluators: [{ explain_strategy: 'always', ...evaluator }],
      evaluated_model_input: input,
      evaluated_model_output: output,
    },
  };
}

function judgement(id: string, { results }: JsonObject): Judgement {
  const [first] = Array.isArray(results) ? results : [];
  const found = isObject(first) ? first.evaluation_result : undefined;
  if (!isObject(found) || typeof found.pass !== 'boolean') throw unreadable(id, 'evaluation_result.pass');
  return {
    verdict: found.pass,
    data: { pass: found.pass, score: found.score_raw ?? null, explanation: found.explanation ?? null },
  };
}

/** Evaluators and their criteria by the checks' names. */
const EVALUATORS: Readonly<Record<string, JsonObject>> = Object.freeze({
  phi: { evaluator: 'phi' },
  toxicity: { evaluator: 'toxicity' },
  retrievalAnswerRelevance: { evaluator: 'retrieval-answer-relevance' },
  retrievalHallucination: { evaluator: 'retrieval-hallucination' },
  isConcise: { evaluator: 'judge', criteria: 'patronus:is-concise' },
  isHelpful: { evaluator: 'judge', criteria: 'patronus:is-helpful' },
  isPolite: { evaluator: 'judge', criteria: 'patronus:is-polite' },
  noApologies: { evaluator: 'judge', criteria: 'patronus:no-apologies' },
  noGenderBias: { evaluator: 'judge', criteria: 'patronus:no-gender-bias' },
  noRacialBias: { evaluator: 'judge', criteria: 'patronus:no-racial-bias' },
});

/** An answer is judged with the prompt that led to it. */
function inputOf({
  slots,
}: {
  readonly slots: readonly { readonly kind: string; readonly text: string }[];
}): string {
  return slots.filter(({ kind }) => kind === 'content').at(-1)?.text ?? '';
}

function evaluation(name: string, evaluator: JsonObject): Check {
  const id = `patronus.${name}`;
  return definePartner({
    id,
    events: ['output'],
    fields: CREDENTIALS,
    ask: (value, { credentials: given }, { traffic }) =>
      question(given, evaluator, inputOf(traffic.request), value),
    judge: (answer) => judgement(id, answer),
  });
}

/** Personal data. */
const pii = definePartner({
  id: 'patronus.pii',
  fields: CREDENTIALS,
  ask: (value, { credentials: given }) => question(given, { evaluator: 'pii' }, value, value),
  judge: (answer) => judgement('patronus.pii', answer),
});

/** A criteria of one's own. */
const custom = definePartner({
  id: 'patronus.custom',
  events: ['output'],
  fields: { ...CREDENTIALS, profile: required(text(512)) },
  ask: (value, { credentials: given, profile }, { traffic }) =>
    question(given, { evaluator: 'judge', criteria: profile }, inputOf(traffic.request), value),
  judge: (answer) => judgement('patronus.custom', answer),
});

/** All of them. */
export const PATRONUS: readonly Check[] = [
  ...Object.entries(EVALUATORS).map(([name, evaluator]) => evaluation(name, evaluator)),
  pii,
  custom,
];
