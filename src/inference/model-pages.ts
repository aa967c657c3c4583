// Pages of models, in the shape of OpenAI's list or of Anthropic's (their API references, "List models").
import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type ListModelsRequest,
  type Model,
  type ModelList,
  ModelListSchema,
  ModelSchema,
} from '../../gen/gateway/inference/v2/models_pb.ts';
import type { Call } from '../call/call.ts';
import { invalidField } from '../lib/errors.ts';
import { attachRawJson } from '../lib/raw-json.ts';

/** Models of a page in Anthropic's shape, when the caller does not say. */
const ANTHROPIC_LIMIT = 20;
/** Of a page in OpenAI's. */
export const MOST = 1000;
const PAGE_MEMBERS = new Set(['has_more', 'first_id', 'last_id']);

/** Whether the caller is one of Anthropic's clients: they send their version, or their key. */
export function wantsAnthropic({ headers }: Pick<Call, 'headers'>): boolean {
  return headers.plain('anthropic-version') !== undefined || headers.plain('x-api-key') !== undefined;
}

/** Whether a provider says that there is more; undefined: it does not give pages. */
export function toldMore({ hasMore, extra }: ModelList): boolean | undefined {
  const told = hasMore ?? extra?.has_more;
  return typeof told === 'boolean' ? told : undefined;
}

/** @throws GatewayError validation_failed for members that contradict each other */
export function checkPage({ after, afterId, beforeId }: ListModelsRequest): void {
  if (after !== undefined && afterId !== undefined && after !== afterId)
    throw invalidField('after_id', 'must not stand beside `after`: send one of them');
  if (beforeId !== undefined && (after ?? afterId) !== undefined)
    throw invalidField('before_id', 'must not stand beside `after`: a page goes in one direction');
}

/**
 * The page that is asked for. A list that its provider has cut into pages stays as it is.
 * @param own whether the list is the gateway's own: then an id that is none of it is a mistake
 * @throws GatewayError validation_failed for an id that is none of the list
 */
export function pageOf(
  list: ModelList,
  request: ListModelsRequest,
  anthropic: boolean,
  own: boolean,
): ModelList {
  const { afterId, beforeId, limit = anthropic ? ANTHROPIC_LIMIT : MOST } = request;
  const after = request.after ?? afterId;
  const told = toldMore(list);
  const { data } = list;
  // The list of a provider that read the member begins after it, also where the provider says nothing of more.
  const cut = after !== undefined && !own && !data.some(({ id }) => id === after);
  const isPaged = cut || (told !== undefined && (told || after !== undefined) && beforeId === undefined);
  const indexOf = (id: string, name: string): number => {
    const index = data.findIndex((one) => one.id === id);
    if (index === -1) throw invalidField(name, 'names no model of the list');
    return index;
  };
  let page: readonly Model[] = data;
  let hasMore = told;
  if (!isPaged) {
    const start =
      after === undefined ? 0 : indexOf(after, request.after === undefined ? 'after_id' : 'after') + 1;
    const end = beforeId === undefined ? data.length : indexOf(beforeId, 'before_id');
    page =
      beforeId === undefined ? data.slice(start, start + limit) : data.slice(Math.max(0, end - limit), end);
    const isAsked = own || anthropic || (request.limit ?? after ?? beforeId) !== undefined;
    if (isAsked) hasMore = beforeId === undefined ? start + limit < data.length : end - limit > 0;
  }
  return anthropic ? anthropicList(page, hasMore ?? false) : openAiList(list, page, hasMore);
}

function openAiList({ extra }: ModelList, page: readonly Model[], hasMore: boolean | undefined): ModelList {
  const own = Object.entries(extra ?? {}).filter(([name]) => !PAGE_MEMBERS.has(name));
  return create(ModelListSchema, {
    object: 'list',
    data: [...page],
    ...(hasMore === undefined ? {} : { hasMore }),
    ...(own.length === 0 ? {} : { extra: Object.fromEntries(own) }),
  });
}

/** Over gRPC its members stand among the others; over REST they stand alone. */
function anthropicList(page: readonly Model[], hasMore: boolean): ModelList {
  const data = page.map(anthropicModel);
  const [firstId, lastId] = [data[0]?.id, data.at(-1)?.id];
  const list = create(ModelListSchema, {
    object: 'list',
    data,
    hasMore,
    ...(firstId === undefined ? {} : { firstId }),
    ...(lastId === undefined ? {} : { lastId }),
  });
  const json = {
    data: data.map(jsonOf),
    has_more: hasMore,
    first_id: firstId ?? null,
    last_id: lastId ?? null,
  };
  return attachRawJson(list, JSON.stringify(json));
}

/** The last instant with a year of four digits, in milliseconds. */
const LAST_INSTANT = Date.UTC(10_000, 0) - 1;

/** RFC 3339; of what is no time of this era, the first instant, as of a model without one. */
function instantOf(ms: number): string {
  return new Date(ms >= 0 && ms <= LAST_INSTANT ? ms : 0).toISOString();
}

/** A model in Anthropic's shape. */
export function anthropicModel(model: Model): Model {
  const { extra, id, created } = model;
  const told = extra?.created_at;
  const createdAt = typeof told === 'string' ? told : instantOf(Number(created) * 1000);
  const shown = extra?.display_name;
  const own = create(ModelSchema, {
    ...model,
    type: 'model',
    displayName: typeof shown === 'string' && shown !== '' ? shown : id,
    createdAt: createdAt.replace('.000Z', 'Z'),
  });
  return attachRawJson(own, JSON.stringify(jsonOf(own)));
}

function jsonOf({
  id,
  displayName,
  createdAt,
  extra,
  capabilities,
  contextWindow,
  maxOutputTokens,
}: Model): JsonObject {
  return {
    type: 'model',
    id,
    display_name: displayName ?? id,
    created_at: createdAt ?? '',
    ...Object.fromEntries(Object.entries(extra ?? {}).filter(([name]) => !TYPED.has(name))),
    ...(contextWindow === undefined ? {} : { max_input_tokens: contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { max_tokens: maxOutputTokens }),
    // Anthropic's own member of this name is an object.
    ...(capabilities.length === 0 || extra?.capabilities !== undefined ? {} : { features: capabilities }),
  };
}

const TYPED = new Set([
  'type',
  'id',
  'display_name',
  'created_at',
  'object',
  'created',
  'owned_by',
  'provider',
]);
