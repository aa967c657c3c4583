// A call's spans, made from its entry when it has ended: the call itself, and below it each call of a provider,
// each guardrail, each look-up in the cache and each tool call.
import { randomUUID } from 'node:crypto';
import {
  type Attributes,
  type HrTime,
  type SpanContext,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
} from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { McpCallRecord } from '../call/call-record.ts';
import type { AttemptRecord, RequestRecord, SpanRecord } from '../call/record.ts';
import { spanIdOf, type TraceContext } from '../lib/trace-context.ts';
import { operationNameOf } from './gen-ai-names.ts';
import { mcpClientAttributes, mcpServerAttributes, mcpSpanName } from './mcp-attributes.ts';
import { attemptAttributes, serverAttributes, workAttributes } from './span-attributes.ts';
import type { KnownModels } from './usage-series.ts';

/** What spans are made with. */
export interface SpanDeps {
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
  readonly models: KnownModels;
  /** The path's template of an operation, with its base. */
  readonly routeOf: (operation: string) => string | undefined;
}

/** Names of models are a caller's text. */
const MOST_LETTERS = 256;
const UNSET: SpanStatus = Object.freeze({ code: SpanStatusCode.UNSET });
const ERROR: SpanStatus = Object.freeze({ code: SpanStatusCode.ERROR });
const NONE: never[] = [];

/** All spans of a call; the call's own is the first. @param mcp of a tool call of the Model Context Protocol */
export function spansOf(
  deps: SpanDeps,
  entry: RequestRecord,
  context: TraceContext,
  mcp?: McpCallRecord,
): ReadableSpan[] {
  const { traceId, spanId, parentSpanId } = context;
  const own: SpanContext = { traceId, spanId, traceFlags: 1 };
  const route = deps.routeOf(entry.operation);
  const spans = [
    spanOf(deps, {
      name: mcp === undefined ? callName(entry, route) : mcpSpanName(mcp),
      kind: SpanKind.SERVER,
      context: own,
      parent:
        parentSpanId === undefined
          ? undefined
          : { traceId, spanId: parentSpanId, traceFlags: 1, isRemote: true },
      startMs: entry.createdAt,
      ms: entry.latencyMs,
      attributes: { ...serverAttributes(entry, route), ...(mcp && mcpServerAttributes(mcp)) },
      // What a caller did wrong is no error of the server's (HTTP conventions, "Status").
      status: entry.statusCode >= 500 || entry.outcome === 'interrupted' ? ERROR : UNSET,
    }),
  ];
  entry.attempts.forEach((attempt, i) => {
    spans.push(attemptSpan(deps, entry, attempt, i, own, mcp));
  });
  // The call of the server is the tool's own span there.
  for (const work of entry.spans ?? NONE)
    if (mcp === undefined || work.kind !== 'tool') spans.push(workSpan(deps, work, own));
  return spans;
}

function callName({ protocol, method, operation }: RequestRecord, route: string | undefined): string {
  return protocol === 'rest' && route !== undefined ? `${method} ${route}` : operation;
}

function attemptSpan(
  deps: SpanDeps,
  { operation, attempts }: RequestRecord,
  attempt: AttemptRecord,
  index: number,
  parent: SpanContext,
  mcp: McpCallRecord | undefined,
): ReadableSpan {
  const { provider, host, model } = attempt;
  const mode = deps.models.find(provider, model)?.mode;
  let before = 0;
  for (let i = 0; i < index; i++) {
    const earlier = attempts[i]!;
    if (earlier.provider === provider && earlier.host === host && earlier.model === model) before++;
  }
  return spanOf(deps, {
    name:
      mcp === undefined
        ? `${operationNameOf(operation, mode)} ${model.slice(0, MOST_LETTERS)}`.trimEnd()
        : mcpSpanName(mcp),
    kind: SpanKind.CLIENT,
    context: { traceId: parent.traceId, spanId: spanIdOf(attempt.id), traceFlags: 1 },
    parent,
    startMs: attempt.startedAt,
    ms: attempt.latencyMs,
    attributes:
      mcp === undefined
        ? attemptAttributes(operation, attempt, mode, before)
        : mcpClientAttributes(mcp, attempt),
    status: attempt.outcome === 'error' || attempt.outcome === 'interrupted' ? ERROR : UNSET,
  });
}

function workSpan(deps: SpanDeps, work: SpanRecord, parent: SpanContext): ReadableSpan {
  const name = work.name.slice(0, MOST_LETTERS);
  return spanOf(deps, {
    name: work.kind === 'tool' ? `execute_tool ${name}` : `${work.kind} ${name}`.trimEnd(),
    kind: SpanKind.INTERNAL,
    context: { traceId: parent.traceId, spanId: spanIdOf(randomUUID()), traceFlags: 1 },
    parent,
    startMs: work.startedAt,
    ms: work.latencyMs,
    attributes: workAttributes(work),
    status: UNSET,
  });
}

interface SpanParts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parent: SpanContext | undefined;
  readonly startMs: number;
  readonly ms: number;
  readonly attributes: Attributes;
  readonly status: SpanStatus;
}

function spanOf({ resource, scope }: SpanDeps, parts: SpanParts): ReadableSpan {
  const { name, kind, context, parent, startMs, ms, attributes, status } = parts;
  return {
    name,
    kind,
    spanContext: () => context,
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    startTime: hrTime(startMs),
    endTime: hrTime(startMs + ms),
    duration: hrTime(ms),
    status,
    attributes,
    links: NONE,
    events: NONE,
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * 1000) * 1e6))];
}
