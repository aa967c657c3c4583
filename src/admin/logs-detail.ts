// One entry of the request log with what was said in it.
import { create, type JsonObject } from '@bufbuild/protobuf';
import { type LogDetail, LogDetailSchema } from '../../gen/gateway/admin/v2/logs_pb.ts';
import type { Directory } from '../access/directory.ts';
import { loggedJson } from '../ledger/logged-json.ts';
import type { BodiesRecord, BodyRecord, FeedbackRecord } from '../store/log-store.ts';
import type { RequestRecord } from '../store/request-log.ts';
import { logEntry } from './logs-entry.ts';
import { bodyJson, count, isObject, wireMessage } from './logs-json.ts';
import { logMetrics } from './logs-metrics.ts';
import { defined } from './patch.ts';
import { timeText } from './time.ts';

/** What a detail is made of. */
export interface DetailParts {
  readonly directory: Directory;
  readonly entry: RequestRecord;
  /** Undefined: not kept, or not for the caller. */
  readonly bodies: BodiesRecord | undefined;
  readonly feedback: readonly FeedbackRecord[];
  /** Only what guardrails found. */
  readonly hooksOnly: boolean;
}

const OURS = /^x-(?:gateway|portkey)-/;

export function logDetail({ directory, entry, bodies, feedback, hooksOnly }: DetailParts): LogDetail {
  const { id, organisationId, workspaceId } = entry;
  const head = {
    ...{ object: 'log', id, sameId: id, organisationId, workspaceId, logFormat: 'v2' },
    createdAt: timeText(entry.createdAt),
    ...defined({ hookResults: hooksOf(bodies?.hooks) }),
  };
  if (hooksOnly) return create(LogDetailSchema, head);
  return create(LogDetailSchema, {
    ...head,
    request: requestOf(entry, bodies?.request),
    response: responseOf(entry, bodies?.response),
    metrics: logMetrics(directory, entry),
    ...defined({
      providerRequest: wireMessage(whole(bodies?.transformedRequest, bodies?.request)),
      providerResponse: wireMessage(whole(bodies?.originalResponse, bodies?.response)),
    }),
    entry: logEntry(entry, feedback),
  });
}

function requestOf(entry: RequestRecord, said: BodyRecord | undefined) {
  const headers = { ...said?.headers };
  const ours = Object.entries(headers)
    .filter(([name]) => OURS.test(name))
    .map(([name, value]): [string, string] => [name.replace(OURS, ''), value]);
  return {
    url: said?.url ?? entry.path,
    method: said?.method ?? entry.method,
    gatewayHeaders: Object.fromEntries(ours),
    headers,
    ...defined({ body: said && bodyJson(said), truncated: count(said?.truncated) }),
  };
}

function responseOf(entry: RequestRecord, said: BodyRecord | undefined) {
  return {
    status: entry.statusCode,
    elapsed: entry.latencyMs,
    targetPath: '',
    headers: { ...said?.headers },
    ...defined({ body: said && bodyJson(said), truncated: count(said?.truncated) }),
  };
}

/** A body that went on as it came is kept once. */
function whole(message: BodyRecord | undefined, first: BodyRecord | undefined): BodyRecord | undefined {
  if (message === undefined || message.body !== undefined || first?.body === undefined) return message;
  const { body, base64, truncated } = first;
  return { ...message, ...defined({ body, base64, truncated }) };
}

function hooksOf(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  const json = loggedJson(text);
  return isObject(json) ? json : undefined;
}
