// Calls that were made without the gateway, as entries of its log (admin-api facts, part 10.1).
import { randomUUID } from 'node:crypto';
import type { DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type CustomLog,
  CustomLogRequestSchema,
  type CustomLogResponse,
  CustomLogResponseSchema,
} from '../../../gen/gateway/admin/v2/logs_pb.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { AttemptRecord, RequestRecord } from '../../call/record.ts';
import { loggedBody, loggedHeaders, loggedUrl } from '../../ledger/logged-message.ts';
import type { PriceList } from '../../ledger/prices/price-list.ts';
import { pricedEntry } from '../../ledger/prices/priced.ts';
import { invalidField } from '../../lib/errors.ts';
import { providerById, providers } from '../../providers/catalog/registry.ts';
import { shapeOf } from '../../rest/json-shape.ts';
import type { BodiesRecord, BodyRecord } from '../../store/log-store.ts';
import { textPairs } from '../kit/metadata-pairs.ts';
import { defined } from '../kit/patch.ts';
import { isObject, jsonOf } from './json.ts';
import { usageOf } from './usage.ts';

/** One call, as the books have it. */
export interface Inserted {
  readonly entry: RequestRecord;
  readonly bodies: BodiesRecord;
}

/** The reporter of the calls, and the time. */
export interface InsertDeps {
  readonly call: Call;
  readonly principal: Principal;
  readonly prices: PriceList;
  /** Days that the workspace keeps its entries, when fewer than the gateway. */
  readonly keepDays: number | undefined;
  readonly keepsMetadata: boolean;
  /** The reporter, for calls whose metadata has no `_user`. */
  readonly user: string | undefined;
}

const ID = /^[\x21-\x7e]{1,255}$/;
const MAX_NAME = 255;
const MAX_MODEL = 255;

/** @param at the place of the log in the request, e.g. "[3]."; empty for one that is alone. @throws GatewayError validation_failed */
export function insertedLog(deps: InsertDeps, log: CustomLog, at: string): Inserted {
  const { call, principal, prices, keepDays, keepsMetadata, user } = deps;
  const [request, response] = [log.request, log.response];
  if (request === undefined) throw invalidField(`${at}request`, 'is needed', 'required');
  if (response === undefined) throw invalidField(`${at}response`, 'is needed', 'required');
  refuseUnknown(CustomLogRequestSchema, request.others, `${at}request.`);
  const url = urlOf(request.url);
  const [asked, answer] = [jsonOf(request.body), jsonOf(response.body)];
  const { trace, metadata } = metadataOf(log.metadata ?? {}, at);
  const { latencyMs, streamed } = timingOf(response, at);
  const id = randomUUID();
  const createdAt = call.arrivedAt;
  const statusCode = response.status ?? 200;
  const answered = modelIn(lastOf(answer));
  const provider = request.provider?.toLowerCase() ?? providerAt(url);
  const told = usageOf(asked, answer, providerById(provider));
  const attempt: AttemptRecord = defined<AttemptRecord>({
    id: randomUUID(),
    provider,
    host: url?.host ?? '',
    model: modelIn(asked) || answered,
    statusCode,
    startedAt: createdAt,
    latencyMs,
    outcome: statusCode < 400 ? 'success' : 'error',
    responseModel: answered === '' ? undefined : answered,
    ...defined<Pick<AttemptRecord, 'usage' | 'usageEstimated' | 'usageRefused'>>({
      usage: told.usage,
      usageEstimated: told.refused ? true : undefined,
      usageRefused: told.refused ? true : undefined,
    }),
  });
  const entry: RequestRecord = defined<RequestRecord>({
    id,
    traceId: trace.traceId ?? call.headers.get('trace-id') ?? randomUUID(),
    createdAt,
    organisationId: principal.organisationId,
    workspaceId: principal.workspaceId ?? '',
    apiKeyId: principal.keyId,
    userId: principal.userId,
    operation: 'gateway.admin.v2.LogsService/CreateLogs',
    protocol: call.source.protocol,
    method: request.method?.toUpperCase() ?? 'POST',
    path: url === undefined ? (request.url.split('?', 1)[0] ?? '') : url.origin + url.pathname,
    provider: attempt.provider,
    model: attempt.model,
    responseModel: answered,
    statusCode,
    outcome: attempt.outcome,
    streamed,
    latencyMs,
    usage: attempt.usage,
    metadata: keepsMetadata ? { ...defined({ _user: user }), ...metadata } : {},
    spanId: trace.spanId,
    spanName: trace.spanName,
    parentSpanId: trace.parentSpanId,
    attempts: [attempt],
    inserted: true,
    keepDays,
  });
  const { organisationId, workspaceId } = entry;
  return {
    entry: pricedEntry(prices, entry),
    bodies: {
      ...defined({ keepDays }),
      id,
      organisationId,
      workspaceId,
      createdAt,
      request: {
        method: entry.method,
        url: loggedUrl(request.url),
        headers: shownHeaders(request.headers),
        ...bodyOf(asked),
      },
      response: { status: statusCode, headers: shownHeaders(response.headers), ...bodyOf(answer) },
    },
  };
}

/** Numbers that clients write in camelCase. @throws GatewayError validation_failed */
function timingOf(
  { responseTime, time, streamingMode, others }: CustomLogResponse,
  at: string,
): { readonly latencyMs: number; readonly streamed: boolean } {
  refuseUnknown(CustomLogResponseSchema, others, `${at}response.`, ['responseTime', 'streamingMode']);
  const { responseTime: camelTime, streamingMode: camelMode } = others ?? {};
  if (
    camelTime !== undefined &&
    camelTime !== null &&
    !(typeof camelTime === 'number' && camelTime >= 0 && camelTime <= 86_400_000)
  )
    throw invalidField(`${at}response.responseTime`, 'must be milliseconds, at most a day');
  if (camelMode !== undefined && camelMode !== null && typeof camelMode !== 'boolean')
    throw invalidField(`${at}response.streamingMode`, 'must be true or false');
  const latencyMs = responseTime ?? (camelTime as number | null | undefined) ?? time ?? 0;
  return { latencyMs: Math.round(latencyMs * 1000) / 1000, streamed: streamingMode ?? camelMode ?? false };
}

/** Of a member that the message names the codec keeps a null and an empty list or object, which say nothing. */
function refuseUnknown(
  desc: DescMessage,
  others: JsonObject | undefined,
  at: string,
  alsoKnown: readonly string[] = [],
): void {
  const shape = shapeOf(desc);
  for (const name of Object.keys(others ?? {})) {
    const known = alsoKnown.includes(name) || (shape.kind === 'object' && shape.byName.has(name));
    if (!known) throw invalidField(at + name, 'is not a member of this object', 'unknown');
  }
}

interface Place {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly spanName?: string;
  readonly parentSpanId?: string;
}

/** Members that say where the call is in its trace, in both spellings. */
const PLACES: ReadonlyMap<string, keyof Place> = new Map([
  ...(['traceId', 'spanId', 'spanName', 'parentSpanId'] as const).map((name) => [name, name] as const),
  ['trace_id', 'traceId'],
  ['span_id', 'spanId'],
  ['span_name', 'spanName'],
  ['parent_span_id', 'parentSpanId'],
]);
/** Members that have the name of metadata of every request. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['user', '_user'],
  ['organization', '_organisation'],
  ['organisation', '_organisation'],
]);

/** @throws GatewayError validation_failed */
function metadataOf(
  given: JsonObject,
  at: string,
): { readonly trace: Place; readonly metadata: Readonly<Record<string, string>> } {
  const trace: { -readonly [K in keyof Place]: Place[K] } = {};
  const pairs: [string, JsonValue][] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue;
    const field = `${at}metadata.${name}`;
    const place = PLACES.get(name);
    if (place !== undefined) trace[place] = placeOf(place, value, field);
    else pairs.push([RENAMED.get(name) ?? name, value]);
  }
  return { trace, metadata: textPairs(pairs, `${at}metadata`) };
}

function placeOf(place: keyof Place, value: unknown, field: string): string {
  if (place === 'spanName') {
    if (typeof value === 'string' && value.length <= MAX_NAME) return value;
    throw invalidField(field, `must be a text of at most ${MAX_NAME} characters`);
  }
  if (typeof value === 'string' && ID.test(value)) return value;
  throw invalidField(field, 'must be 1 to 255 printable ASCII characters');
}

/** Undefined for a bare path. */
function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** The provider whose host it is; empty for an unknown host. */
function providerAt(url: URL | undefined): string {
  if (url === undefined) return '';
  const found = providers.find(
    ({ baseUrl }) => baseUrl && URL.canParse(baseUrl) && new URL(baseUrl).host === url.host,
  );
  return found?.id ?? '';
}

function modelIn(body: unknown): string {
  const { model } = isObject(body) ? body : { model: undefined };
  return typeof model === 'string' ? model.slice(0, MAX_MODEL) : '';
}

/** The answer, or the last event of a streamed one that names its model. */
function lastOf(answer: ReturnType<typeof jsonOf>): unknown {
  return Array.isArray(answer) ? answer.findLast((event) => modelIn(event) !== '') : answer;
}

function shownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return loggedHeaders(Object.entries(headers).flat());
}

function bodyOf(json: ReturnType<typeof jsonOf>): Pick<BodyRecord, 'body' | 'truncated'> {
  return loggedBody(typeof json === 'string' ? json : JSON.stringify(json));
}
