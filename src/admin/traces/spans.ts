// The spans of a trace's requests, parents before their children.
import { create } from '@bufbuild/protobuf';
import { type TraceSpan, TraceSpanSchema } from '../../../gen/gateway/admin/v2/traces_pb.ts';
import type { AttemptRecord, RequestRecord, SpanRecord } from '../../call/record.ts';
import { inCents } from '../../ledger/prices/cents.ts';
import { defined } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';

/** A request and the id of its span: the caller's where it gave one that no request before it has. */
interface Placed {
  readonly entry: RequestRecord;
  readonly spanId: string;
  readonly parentId: string | undefined;
}

/** @param entries oldest first */
export function spansOf(entries: readonly RequestRecord[]): TraceSpan[] {
  const taken = new Set<string>();
  const placed = entries.map((entry): Placed => {
    const spanId = entry.spanId !== undefined && !taken.has(entry.spanId) ? entry.spanId : entry.id;
    taken.add(spanId);
    return { entry, spanId, parentId: entry.parentSpanId };
  });
  const below = Map.groupBy(placed, ({ parentId }) =>
    parentId !== undefined && taken.has(parentId) ? parentId : '',
  );
  const spans: TraceSpan[] = [];
  const left = new Set(placed);
  const show = (root: Placed, parentId: string | undefined): void => {
    const stack = [{ ...root, parentId, of: root }];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (!left.delete(at.of)) continue;
      spans.push(...spansOfRequest(at));
      stack.push(...(below.get(at.spanId) ?? []).toReversed().map((one) => ({ ...one, of: one })));
    }
  };
  for (const root of below.get('') ?? []) show(root, root.parentId);
  // Requests that name each other as parents have no beginning: the oldest of them is one.
  for (const one of placed) if (left.has(one)) show(one, undefined);
  return spans;
}

/** Unix milliseconds at which the last of a request's work ended. */
export function endOf({ createdAt, latencyMs, attempts }: RequestRecord): number {
  return attempts.reduce(
    (last, attempt) => Math.max(last, attempt.startedAt + attempt.latencyMs),
    createdAt + latencyMs,
  );
}

function spansOfRequest({ entry, spanId, parentId }: Placed): TraceSpan[] {
  const { id, operation, spanName, createdAt, provider, model, usage, outcome, error } = entry;
  const request = create(TraceSpanSchema, {
    spanId,
    kind: 'request',
    name: spanName ?? operation,
    logId: id,
    outcome,
    startedAt: timeText(createdAt),
    latencyMs: entry.latencyMs,
    statusCode: entry.statusCode,
    ...defined({ parentSpanId: parentId, provider, model, error: error && { ...error } }),
    ...measures(usage?.totalTokens, entry.cost),
  });
  return [
    request,
    ...[
      ...entry.attempts.map((attempt) => ({ at: attempt.startedAt, span: attemptSpan(attempt, id, spanId) })),
      ...(entry.spans ?? []).map((span, i) => ({ at: span.startedAt, span: ownSpan(span, id, spanId, i) })),
    ]
      .sort((a, b) => a.at - b.at)
      .map(({ span }) => span),
  ];
}

function attemptSpan(attempt: AttemptRecord, logId: string, parentSpanId: string): TraceSpan {
  const { id, provider, model, startedAt, latencyMs, outcome, statusCode, error, usage, cost } = attempt;
  return create(TraceSpanSchema, {
    spanId: id,
    parentSpanId,
    kind: 'attempt',
    name: [provider, model].filter(Boolean).join('/'),
    logId,
    startedAt: timeText(startedAt),
    latencyMs,
    outcome,
    provider,
    model,
    statusCode,
    ...defined({ error: error && { ...error } }),
    ...measures(usage?.totalTokens, cost),
  });
}

/** Guardrails, cache look-ups and tool calls have no ids of their own. */
function ownSpan(span: SpanRecord, logId: string, parentSpanId: string, i: number): TraceSpan {
  const { kind, name, startedAt, latencyMs, verdict } = span;
  return create(TraceSpanSchema, {
    spanId: `${logId}.${i}`,
    parentSpanId,
    kind,
    name,
    logId,
    latencyMs,
    outcome: verdict,
    startedAt: timeText(startedAt),
  });
}

function measures(tokens: number | undefined, cost: string | undefined) {
  return defined({
    totalTokens: tokens === undefined ? undefined : BigInt(tokens),
    cost: cost === undefined ? undefined : inCents(BigInt(cost)),
  });
}
