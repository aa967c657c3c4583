// The trace that an entry is part of: its requests, attempts, checks and tools, each from its beginning to its end.
import { type Trace, type TraceSpan, TracesService } from '../../../gen/gateway/admin/v2/traces_pb.ts';
import { client } from '../api.ts';
import { duration } from '../figures.ts';
import { Alert, useLoaded } from '../parts.tsx';
import { href } from '../router.ts';

export function TracePart({ traceId }: { readonly traceId: string }) {
  const { value, error } = useLoaded(traceId, (signal) =>
    client(TracesService).getTrace({ traceId }, { signal }),
  );
  // A trace of the one request says nothing that is not above.
  if (value !== undefined && value.requests < 2) return null;
  return (
    <section aria-label="Trace" class="part">
      <h2>Trace</h2>
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && <Spans trace={value} />}
    </section>
  );
}

function Spans({ trace }: { readonly trace: Trace }) {
  const depths = new Map<string, number>();
  const from = Date.parse(trace.startedAt);
  const whole = Math.max(1, trace.durationMs);
  return (
    <>
      <p class="hint">
        {trace.requests} requests in {duration(trace.durationMs)}
        {trace.truncated && ', not all are shown'}.{' '}
        <a href={href('/logs', { trace: trace.traceId })}>Entries</a>
      </p>
      <ol class="waterfall">
        {trace.spans.map((span) => {
          const depth = (depths.get(span.parentSpanId ?? '') ?? -1) + 1;
          depths.set(span.spanId, depth);
          const left = Math.min(99, Math.max(0, ((Date.parse(span.startedAt) - from) / whole) * 100));
          const width = Math.max(0.5, Math.min(100 - left, (span.latencyMs / whole) * 100));
          return (
            <li key={span.spanId} style={{ marginLeft: `${Math.min(depth, 8)}rem` }}>
              <Name span={span} /> <span class="hint">{span.outcome}</span> {duration(span.latencyMs)}
              <span class="bar" aria-hidden="true">
                <span style={{ marginLeft: `${left}%`, width: `${width}%` }} />
              </span>
            </li>
          );
        })}
      </ol>
    </>
  );
}

function Name({ span: { kind, name, logId } }: { readonly span: TraceSpan }) {
  const words = (
    <>
      {kind} <bdi>{name.slice(0, 120)}</bdi>
    </>
  );
  return kind === 'request' ? <a href={href(`/logs/${encodeURIComponent(logId)}`)}>{words}</a> : words;
}
