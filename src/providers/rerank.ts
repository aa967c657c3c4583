// Rerank in the shape that most services share: what their answers differ in is the names of a few members.
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  type CreateRerankRequest,
  type Rerank,
  type RerankResult,
  RerankResultSchema,
  RerankSchema,
} from '../../gen/gateway/inference/v2/rerank_pb.ts';
import { fail, invalidField } from '../lib/errors.ts';
import type { MessageJson, Translated, TranslationContext } from './dialect.ts';
import { given, isObject, objectOf, textOf } from './json-object.ts';
import { readUsage, usageIn } from './usage/tap.ts';

/** The documents as JSON, as the caller gave them. */
export function documentsOf({ documents }: CreateRerankRequest): readonly (string | JsonObject)[] {
  return documents.map(({ kind }) => (kind.case === 'object' ? kind.value : (kind.value ?? '')));
}

/** The documents as texts. @throws GatewayError `validation_failed` for one without a text */
export function documentTexts(request: CreateRerankRequest): readonly string[] {
  return documentsOf(request).map((document, i) => {
    const text = typeof document === 'string' ? document : textOf(document.text);
    if (text === undefined) throw invalidField(`documents[${i}].text`, 'is required with this provider');
    return text;
  });
}

/**
 * The answer in the common shape. Services name the list `results` or `data`, the score `relevance_score` or `score`,
 * and give documents as objects or as texts.
 *
 * @param whole the provider's answer @throws GatewayError `upstream_garbage` without results
 */
export function readRerank(
  json: MessageJson,
  whole: JsonObject,
  request: CreateRerankRequest,
  { target }: TranslationContext,
): Translated<Rerank> {
  const { id, object: _object, model, results, data, usage: _usage, ...extra } = whole;
  const list = Array.isArray(results) ? results : data;
  const garbage = (problem: string): never => {
    throw fail('upstream_garbage', problem, { provider: target.provider.id });
  };
  if (!Array.isArray(list)) return garbage('the provider answered without results');
  const own = request.returnDocuments === true ? documentsOf(request) : [];
  const read = list.map((entry): RerankResult => {
    const result = resultOf(entry, request.documents.length, own);
    return result ?? garbage('the provider answered with a result that names no document and score');
  });
  // Cohere counts searches there, which are no tokens.
  const counts = usageIn(whole) ?? objectOf(whole.meta);
  const usage = counts && readUsage(json, counts);
  const named = textOf(model);
  const answer = create(RerankSchema, {
    object: 'list',
    model: named ?? request.model ?? '',
    results: read,
    ...(textOf(id) === undefined ? {} : { id: textOf(id) }),
    ...(usage === undefined || usage === 'refused' ? {} : { usage }),
    ...(given(extra) === undefined ? {} : { extra }),
  });
  return { answer, usage, model: named };
}

function resultOf(
  entry: JsonValue,
  documents: number,
  own: readonly (string | JsonObject)[],
): RerankResult | undefined {
  if (!isObject(entry)) return undefined;
  const { index, relevance_score: relevance, score, document, ...extra } = entry;
  const relevanceScore = relevance ?? score;
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= documents)
    return undefined;
  if (typeof relevanceScore !== 'number') return undefined;
  const said = document ?? own[index];
  const asObject = typeof said === 'string' ? { text: said } : objectOf(said);
  return create(RerankResultSchema, {
    index,
    relevanceScore,
    ...(asObject === undefined ? {} : { document: asObject }),
    ...(given(extra) === undefined ? {} : { extra }),
  });
}
