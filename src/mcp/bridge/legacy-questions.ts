// What a result, or a task, of 2026-07-28 asks the client, as the older revisions ask it.
import { garbage } from '../relay/answer-check.ts';
import { isObject, type JsonObject } from '../wire/json-rpc.ts';

export interface Question {
  readonly method: string;
  readonly params: JsonObject;
}

/** Elicitation in the mode `url` has an id of its own in the older revisions. */
export function legacyQuestion({ method, params }: Question, elicitationId: string): Question {
  const isUrl = method === 'elicitation/create' && params.mode === 'url';
  return { method, params: isUrl ? { elicitationId, ...params } : params };
}

/** By their keys. @throws GatewayError upstream_garbage */
export function questionsOf({ inputRequests }: JsonObject): Record<string, Question> {
  if (inputRequests === undefined) return {};
  if (!isObject(inputRequests)) throw garbage('asked for input in a form that is none');
  const all = Object.entries(inputRequests).map(([key, value]) => {
    if (!isObject(value) || typeof value.method !== 'string')
      throw garbage('asked for input in a form that is none');
    return [key, { method: value.method, params: isObject(value.params) ? value.params : {} }] as const;
  });
  return Object.fromEntries(all);
}
