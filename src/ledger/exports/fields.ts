// What a line of an export holds, by the names that clients of this ecosystem ask for (admin-api facts, part 10.3).

import type { RequestRecord } from '../../call/record.ts';
import { nextSlice } from '../../lib/time-slices.ts';
import type { BodiesRecord, BodyRecord } from '../../store/log-store.ts';
import { loggedJson } from '../logged-json.ts';
import { inCents } from '../prices/cents.ts';

type Read = (entry: RequestRecord, bodies: BodiesRecord | undefined) => unknown;

const FIELDS: Readonly<Record<string, Read>> = {
  id: ({ id }) => id,
  trace_id: ({ traceId }) => traceId,
  created_at: ({ createdAt }) => new Date(createdAt).toISOString(),
  request: ({ method, path }, bodies) => message(bodies?.request, { method, url: path }),
  response: ({ statusCode: status }, bodies) => message(bodies?.response, { status }),
  is_success: ({ statusCode }) => statusCode >= 200 && statusCode < 300,
  ai_org: ({ provider }) => provider,
  ai_model: ({ model }) => model,
  req_units: ({ usage }) => usage?.promptTokens ?? 0,
  res_units: ({ usage }) => usage?.completionTokens ?? 0,
  total_units: ({ usage }) => usage?.totalTokens ?? 0,
  request_url: ({ path }) => path,
  // US cents; null when no price is known.
  cost: ({ cost }) => (cost === undefined ? null : inCents(BigInt(cost))),
  cost_currency: () => 'USD',
  // Milliseconds.
  response_time: ({ latencyMs }) => latencyMs,
  response_status_code: ({ statusCode }) => statusCode,
  mode: ({ mode }) => mode ?? 'single',
  config: ({ config }) => config ?? null,
  prompt_slug: ({ prompt }) => prompt ?? null,
  metadata: ({ metadata }) => metadata,
  api_key_id: ({ apiKeyId }) => apiKeyId,
  workspace_id: ({ workspaceId }) => workspaceId,
  virtual_key: ({ virtualKey }) => virtualKey ?? null,
  cache_status: ({ cacheStatus }) => cacheStatus ?? 'DISABLED',
  user_id: ({ userId }) => userId ?? null,
  span_id: ({ spanId }) => spanId ?? null,
};

/** Every field that a caller may ask for. */
export const EXPORT_FIELDS: readonly string[] = Object.keys(FIELDS);

/** Whether lines of these fields hold bodies. */
export function needsBodies(fields: readonly string[]): boolean {
  return fields.includes('request') || fields.includes('response');
}

/** A line without its end: JSON with the fields in the order asked for. It may be megabytes, and gives way meanwhile. */
export async function exportLine(
  fields: readonly string[],
  entry: RequestRecord,
  bodies: BodiesRecord | undefined,
): Promise<string> {
  const line: Record<string, unknown> = {};
  for (const name of fields) {
    const next = bodies === undefined ? undefined : nextSlice();
    if (next !== undefined) await next;
    line[name] = FIELDS[name]?.(entry, bodies);
  }
  const next = nextSlice();
  if (next !== undefined) await next;
  return JSON.stringify(line);
}

/** A message with its body as JSON where it is some; without what was not kept. */
function message(record: BodyRecord | undefined, known: Omit<BodyRecord, 'body'>): object {
  if (record === undefined) return known;
  const { body, ...rest } = record;
  return { ...known, ...rest, ...(body === undefined ? {} : { body: json(record, body) }) };
}

function json({ base64, truncated }: BodyRecord, body: string): unknown {
  const value = base64 || truncated !== undefined ? undefined : loggedJson(body);
  return value === undefined ? body : value;
}
