// What a filter and a page of the request log may ask, for every adapter.

import type { OutcomeRecord } from '../call/record.ts';
import { invalidField } from '../lib/errors.ts';
import { checkInteger } from './document-checks.ts';
import type { FeedbackOwner, FeedbackRange, LogFilter, LogRange } from './request-log.ts';

/** Values of one condition. */
const VALUES = 100;
/** Pairs of metadata. */
const PAIRS = 10;
const TEXT = { min: 3, max: 200 } as const;
const OUTCOMES: readonly OutcomeRecord[] = ['success', 'error', 'cancelled', 'interrupted'];

const TEXT_LISTS = [
  ...(['traceIds', 'ids', 'spanIds', 'workspaceIds', 'apiKeyIds', 'userIds', 'users', 'providers'] as const),
  ...(['models', 'virtualKeys', 'configs', 'prompts', 'cacheStatuses', 'errorReasons'] as const),
];
const NUMBER_RANGES = ['totalTokens', 'promptTokens', 'completionTokens', 'latencyMs'] as const;

/** The filter with known members only; undefined members are left out. */
export function checkLogFilter(filter: LogFilter): LogFilter {
  const { from, until, statusCodes, providerModels, outcomes, metadata, cost, feedback, text } = filter;
  const checked: { -readonly [K in keyof LogFilter]: LogFilter[K] } = {};
  if (from !== undefined) checked.from = checkInteger('from', from, 0);
  if (until !== undefined) checked.until = checkInteger('until', until, 0);
  if (statusCodes !== undefined) {
    checked.statusCodes = checkList('statusCodes', statusCodes).map((code) =>
      checkInteger('statusCodes', code, 0),
    );
  }
  for (const field of TEXT_LISTS) {
    const list = filter[field];
    if (list !== undefined) checked[field] = checkList(field, list).map((value) => checkText(field, value));
  }
  if (providerModels !== undefined) {
    checked.providerModels = checkList('providerModels', providerModels).map(({ provider, model }) => ({
      provider: checkText('providerModels', provider),
      model: checkText('providerModels', model),
    }));
  }
  if (outcomes !== undefined) checked.outcomes = checkList('outcomes', outcomes).map(checkOutcome);
  if (metadata !== undefined) checked.metadata = checkPairs(metadata);
  if (cost !== undefined) checked.cost = checkRange('cost', cost, 'bigint');
  for (const field of NUMBER_RANGES) {
    const range = filter[field];
    if (range !== undefined) checked[field] = checkRange(field, range, 'number');
  }
  if (feedback !== undefined) checked.feedback = checkFeedback(feedback);
  if (text !== undefined) checked.text = checkSearch(text);
  return checked;
}

function checkOutcome(outcome: unknown): OutcomeRecord {
  const known = OUTCOMES.find((one) => one === outcome);
  if (known === undefined) throw invalidField('outcomes', `must be of ${OUTCOMES.join(', ')}`, 'in');
  return known;
}

function checkText(field: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidField(field, 'must be strings', 'type');
  return value;
}

function checkPairs(metadata: unknown): Readonly<Record<string, string>> {
  if (typeof metadata !== 'object' || metadata === null) {
    throw invalidField('metadata', 'must be an object', 'type');
  }
  const pairs = Object.entries(metadata);
  if (pairs.length > PAIRS) throw invalidField('metadata', `has more than ${PAIRS} pairs`, 'max_items');
  for (const [, value] of pairs) checkText('metadata', value);
  return Object.fromEntries(pairs) as Record<string, string>;
}

function checkRange<T extends number | bigint>(
  field: string,
  { min, max }: LogRange<T>,
  type: 'number' | 'bigint',
): LogRange<T> {
  for (const bound of [min, max]) {
    if (bound === undefined) continue;
    const right = typeof bound === type && !Number.isNaN(bound);
    if (!right) throw invalidField(field, `must have ${type === 'number' ? 'numbers' : 'integers'}`, 'type');
  }
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
}

function checkFeedback({ own, ...range }: FeedbackRange): FeedbackRange {
  const checked = checkRange('feedback', range, 'number');
  return own === undefined ? checked : { ...checked, own: checkOwner(own) };
}

/** One of both: what is not there must not come to mean everybody's. */
export function checkOwner({ userId, apiKeyId }: FeedbackOwner): FeedbackOwner {
  if (userId !== undefined) return { userId: checkText('feedback', userId) };
  return { apiKeyId: checkText('feedback', apiKeyId) };
}

function checkSearch(text: unknown): string {
  if (typeof text !== 'string') throw invalidField('text', 'must be a string', 'type');
  if (text.length < TEXT.min)
    throw invalidField('text', `must have ${TEXT.min} characters or more`, 'min_len');
  if (text.length > TEXT.max)
    throw invalidField('text', `must have ${TEXT.max} characters or less`, 'max_len');
  return text;
}

function checkList<T>(field: string, list: readonly T[]): readonly T[] {
  if (!Array.isArray(list)) throw invalidField(field, 'must be a list', 'type');
  if (list.length === 0) throw invalidField(field, 'must not be empty', 'min_items');
  if (list.length > VALUES) throw invalidField(field, `has more than ${VALUES} values`, 'max_items');
  return list;
}
