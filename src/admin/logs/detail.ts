// One entry of the request log with its bodies.
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { type LogDetail, LogDetailSchema } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { RequestRecord } from '../../call/record.ts';
import type { KeptLateHook } from '../../ledger/late-hooks.ts';
import { loggedJson } from '../../ledger/logged-json.ts';
import type { BodiesRecord, BodyRecord, TraceFeedback } from '../../store/log-store.ts';
import { defined } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';
import { logEntry } from './entry.ts';
import { bodyJson, count, isObject, wireMessage } from './json.ts';
import { logMetrics } from './metrics.ts';

/** What a detail is made of. */
export interface DetailParts {
  readonly directory: Directory;
  readonly entry: RequestRecord;
  /** Undefined: not stored, or hidden from the caller. */
  readonly bodies: BodiesRecord | undefined;
  /** The results of asynchronous guardrails; empty where the caller may not see them. */
  readonly late: readonly KeptLateHook[];
  readonly feedback: TraceFeedback | undefined;
  /** Only what guardrails found. */
  readonly hooksOnly: boolean;
}

const OURS = /^x-(?:gateway|portkey)-/;

export function logDetail({ directory, entry, bodies, late, feedback, hooksOnly }: DetailParts): LogDetail {
  const { id, organisationId, workspaceId } = entry;
  const head = {
    object: 'log',
    id,
    sameId: id,
    organisationId,
    workspaceId,
    logFormat: 'v2',
    createdAt: timeText(entry.createdAt),
    ...defined({ hookResults: hooksOf(bodies?.hooks, late) }),
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

function requestOf(entry: RequestRecord, message: BodyRecord | undefined) {
  const headers = { ...message?.headers };
  const ours = Object.entries(headers)
    .filter(([name]) => OURS.test(name))
    .map(([name, value]): [string, string] => [name.replace(OURS, ''), value]);
  return {
    url: message?.url ?? entry.path,
    method: message?.method ?? entry.method,
    gatewayHeaders: Object.fromEntries(ours),
    headers,
    ...defined({ body: message && bodyJson(message), truncated: count(message?.truncated) }),
  };
}

function responseOf(entry: RequestRecord, message: BodyRecord | undefined) {
  return {
    status: entry.statusCode,
    elapsed: entry.latencyMs,
    targetPath: targetPathOf(entry),
    headers: { ...message?.headers },
    ...defined({ body: message && bodyJson(message), truncated: count(message?.truncated) }),
  };
}

/** With one target it is the config itself; with several, entries that are older than this record have none. */
function targetPathOf({ targetPath, attempts, mode, inserted }: RequestRecord): string {
  return targetPath ?? (attempts.length > 0 && mode === undefined && !inserted ? 'config' : '');
}

/** A body that was forwarded unchanged is stored once. */
function whole(message: BodyRecord | undefined, first: BodyRecord | undefined): BodyRecord | undefined {
  if (message === undefined || message.body !== undefined || first?.body === undefined) return message;
  const { body, base64, truncated } = first;
  return { ...message, ...defined({ body, base64, truncated }) };
}

/** Results by side. An asynchronous guardrail's result replaces the note that it was not awaited. */
function hooksOf(text: string | undefined, late: readonly KeptLateHook[]): JsonObject | undefined {
  const json = text === undefined ? undefined : loggedJson(text);
  const came = late.filter(({ result }) => isObject(result));
  if (!isObject(json) && came.length === 0) return undefined;
  const sides: Record<string, JsonValue[]> = {};
  for (const side of ['before', 'after'] as const) {
    const own = isObject(json) ? json[side] : undefined;
    const all = Array.isArray(own) ? own.filter(isObject) : [];
    all.push(...came.filter((one) => one.side === side).map(({ result }) => result as JsonObject));
    sides[side] = joined(all);
  }
  return { ...(isObject(json) ? json : {}), ...sides };
}

function joined(results: readonly JsonObject[]): JsonObject[] {
  const left = results.filter((one) => one.async === true && one.skipped !== true);
  const shown = results.flatMap((one): JsonObject[] => {
    if (one.async !== true) return [one];
    if (one.skipped !== true) return [];
    const at = left.findIndex(({ id }) => id === one.id);
    return at === -1 ? [one] : left.splice(at, 1);
  });
  return [...shown, ...left];
}
