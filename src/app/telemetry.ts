// What is watched of the gateway's calls: series for Prometheus always, and OTLP where it is configured.
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { CallRecord } from '../call/call-record.ts';
import type { AttemptRecord, RequestRecord } from '../call/record.ts';
import type { TraceContext } from '../lib/trace-context.ts';
import type { RouteTable } from '../rest/routes.ts';
import type { Settings } from '../settings.ts';
import type { CallSpans, Telemetry } from '../telemetry/call-spans.ts';
import { counter, type Family, gauge } from '../telemetry/family.ts';
import { knownModels } from '../telemetry/known-models.ts';
import { processFamilies } from '../telemetry/process-families.ts';
import { usageFamilies } from '../telemetry/usage-families.ts';
import { type KnownModels, UsageSeries } from '../telemetry/usage-series.ts';

/** Exports go on for this long when the gateway stops. */
const CLOSE_MS = 3000;
const BASE = '/v1';

/** The watch over all calls. */
export interface Watch {
  /** Told of each entry once, for `Books`. */
  readonly onEntry: (
    entry: RequestRecord,
    call: {
      readonly traceContext?: TraceContext | undefined;
      readonly record?: Pick<CallRecord, 'mcp'>;
    },
  ) => void;
  /** Told of refused reports of usage in calls that were made elsewhere. */
  readonly onUsageRefused: (operation: string, attempt: AttemptRecord) => void;
  /** Undefined when nothing is exported. */
  readonly spans: CallSpans | undefined;
  readonly families: readonly Family[];
  /** The paths of operations, for the names of spans. */
  learn(routes: RouteTable): void;
  close(): Promise<void>;
}

/** Begins to watch. The libraries of OpenTelemetry are loaded only where they are used. */
export async function openWatch(settings: Settings, catalogue: KnownModels, log: Logger): Promise<Watch> {
  const models = knownModels(catalogue, settings.metricsModels);
  const usage = new UsageSeries(models);
  const paths = new Map<string, string>();
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  let telemetry: Telemetry | undefined;
  if (settings.telemetry !== undefined) {
    const { openTelemetry } = await import('../telemetry/open-telemetry.ts');
    telemetry = openTelemetry({
      settings: settings.telemetry,
      version,
      usage,
      models,
      routeOf: (operation) => paths.get(operation),
      extraCa: settings.extraCa,
      onTrouble: (error, what) => log.warn({ err: error }, what),
    });
  }
  const own = telemetry;
  const faults = faultsTo(log);
  const ended: CallSpans['ended'] = (entry, context, mcp) => {
    try {
      own?.ended(entry, context, mcp);
    } catch (error) {
      faults(error);
    }
  };
  return {
    onEntry(entry, { traceContext, record }) {
      try {
        usage.count(entry);
      } catch (error) {
        faults(error);
      }
      if (traceContext !== undefined) ended(entry, traceContext, record?.mcp);
    },
    onUsageRefused: (operation, attempt) => usage.refused(operation, attempt),
    spans: own && { begin: own.begin, ended },
    families: [...usageFamilies(usage), ...processFamilies(), ...(own ? telemetryFamilies(own) : [])],
    learn({ routes }) {
      for (const { method, streamMethod, template } of routes) {
        const path = BASE + template.text.replace('=**', '');
        for (const { parent, name } of [method, streamMethod ?? method]) {
          const operation = `${parent.typeName}/${name}`;
          if (!paths.has(operation)) paths.set(operation, path);
        }
      }
    },
    close: async () => own?.close(CLOSE_MS),
  };
}

/** A failing observer does not fail the call. Only the first error is logged; the others would be the same. */
function faultsTo(log: Logger): (error: unknown) => void {
  let told = false;
  return (error) => {
    if (!told) log.error({ err: error }, 'a call could not be counted');
    told = true;
  };
}

function telemetryFamilies({ stats }: Telemetry): Family[] {
  return [
    counter('sluice_spans_exported_total', 'Spans that the collector took', () => stats().spansExported),
    counter(
      'sluice_spans_dropped_total',
      'Spans that were dropped: the queue was full, or an export failed',
      () => stats().spansDropped,
    ),
    gauge('sluice_spans_waiting', 'Spans not exported yet', 'sum', () => stats().spansWaiting),
    counter(
      'sluice_telemetry_failures_total',
      'Exports of spans or metrics that were given up',
      () => stats().failures,
    ),
  ];
}
