// Telemetry that is exported over OTLP. This file and what it imports is loaded only where it is configured.
import { randomUUID } from 'node:crypto';
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import { type Sampler, SamplingDecision } from '@opentelemetry/sdk-trace';
import {
  asTraceId,
  parseTraceparent,
  type RemoteParent,
  spanIdOf,
  type TraceContext,
  validTracestate,
} from '../lib/trace-context.ts';
import type { BeginningCall, Telemetry } from './call-spans.ts';
import { metricExporter, spanExporter } from './exporters.ts';
import { samplerOf } from './samplers.ts';
import type { TelemetrySettings } from './settings.ts';
import { SpanQueue } from './span-queue.ts';
import { type SpanDeps, spansOf } from './spans.ts';
import { usageProducer } from './usage-metrics.ts';
import type { KnownModels, UsageSeries } from './usage-series.ts';

/** What telemetry is opened with. */
export interface TelemetryDeps {
  readonly settings: TelemetrySettings;
  readonly version: string;
  readonly usage: UsageSeries;
  readonly models: KnownModels;
  /** The path's template of an operation, with its base. */
  readonly routeOf: SpanDeps['routeOf'];
  /** PEM text of authorities that may issue the collector's certificate, in addition to the default roots. */
  readonly extraCa: string | undefined;
  /** Told that exports fail, once in a while. */
  readonly onTrouble: (error: Error | undefined, what: string) => void;
}

/** Between two notices that exports fail. */
const NOTICE_MS = 60_000;

export function openTelemetry(deps: TelemetryDeps): Telemetry {
  const { settings, version, usage, models, routeOf } = deps;
  const resource = resourceOf(settings, version);
  const scope = { name: 'sluice', version };
  let failures = 0;
  const failed = (error: Error | undefined): void => {
    failures++;
    notice(error);
  };
  const notice = quietly(deps.onTrouble);
  const queue =
    settings.traces && new SpanQueue(spanExporter(settings.traces, settings, deps.extraCa), settings, failed);
  const meters = settings.metrics && meterProvider(deps, resource, failed);
  const spanDeps: SpanDeps = { resource, scope, models, routeOf };
  const sampler = samplerOf(settings);
  return {
    begin: (call) => (queue === undefined ? undefined : beginning(call, sampler, settings.propagates)),
    ended(entry, context, mcp) {
      if (context.sampled) queue?.add(spansOf(spanDeps, entry, context, mcp));
    },
    stats: () => ({
      spansExported: queue?.exported ?? 0,
      spansDropped: queue?.dropped ?? 0,
      spansWaiting: queue?.waiting ?? 0,
      failures,
    }),
    async close(ms) {
      const both = Promise.allSettled([queue?.close(), meters?.shutdown({ timeoutMillis: ms })]);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
      });
      await Promise.race([both, late]);
      clearTimeout(timer);
    },
  };

  function meterProvider(
    { settings, extraCa }: TelemetryDeps,
    resource: Resource,
    failed: Failed,
  ): MeterProvider {
    const { metrics, metricIntervalMs } = settings;
    const reader = new PeriodicExportingMetricReader({
      exporter: counted(metricExporter(metrics!, settings, extraCa), failed),
      exportIntervalMillis: metricIntervalMs,
      exportTimeoutMillis: Math.min(metricIntervalMs, metrics!.timeoutMs),
      metricProducers: [usageProducer(usage, resource, scope)],
    });
    return new MeterProvider({ resource, readers: [reader] });
  }
}

type Failed = (error: Error | undefined) => void;

function resourceOf({ serviceName, resource }: TelemetrySettings, version: string): Resource {
  return defaultResource().merge(
    resourceFromAttributes({
      'service.version': version,
      'service.instance.id': randomUUID(),
      ...resource,
      'service.name': serviceName,
    }),
  );
}

/** A call's position: below its caller's span, or the root of a trace with the gateway's own trace id. */
function beginning({ headers, traceId }: BeginningCall, sampler: Sampler, propagates: boolean): TraceContext {
  const parent = parseTraceparent(headers.plain('traceparent'));
  const id = parent?.traceId ?? asTraceId(traceId) ?? asTraceId(randomUUID())!;
  return {
    traceId: id,
    spanId: spanIdOf(randomUUID()),
    parentSpanId: parent?.spanId,
    sampled: isSampled(sampler, id, parent),
    state: parent && validTracestate(headers.plain('tracestate')),
    propagates,
  };
}

function isSampled(sampler: Sampler, traceId: string, parent: RemoteParent | undefined): boolean {
  const context =
    parent === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, {
          traceId,
          spanId: parent.spanId,
          traceFlags: parent.sampled ? 1 : 0,
          isRemote: true,
        });
  const { decision } = sampler.shouldSample(context, traceId, '', SpanKind.SERVER, {}, []);
  return decision === SamplingDecision.RECORD_AND_SAMPLED;
}

function counted(exporter: PushMetricExporter, failed: Failed): PushMetricExporter {
  return {
    export: (metrics, done) =>
      exporter.export(metrics, (result) => {
        if (result.code !== 0) failed(result.error);
        done({ code: 0 });
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

function quietly(tell: TelemetryDeps['onTrouble']): Failed {
  let told = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - told < NOTICE_MS) return;
    told = performance.now();
    tell(error, 'telemetry could not be exported; what does not fit into its queue is dropped');
  };
}
