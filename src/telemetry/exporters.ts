// The exporters of both signals in the protocol that is set. They go straight to the operator's collector: the
// egress firewall is for addresses that tenants can name.
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraces } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraces } from '@opentelemetry/exporter-trace-otlp-proto';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { trust } from '../lib/egress/authorities.ts';
import type { OtlpTarget, TelemetrySettings } from './settings.ts';

type Config = NonNullable<ConstructorParameters<typeof JsonTraces>[0]>;

/** Exports that may be under way at once. */
const MOST_AT_ONCE = 4;

export function spanExporter(
  target: OtlpTarget,
  settings: TelemetrySettings,
  extraCa: string | undefined,
): SpanExporter {
  const config = configOf(target, settings, extraCa);
  return settings.protocol === 'http/json' ? new JsonTraces(config) : new ProtobufTraces(config);
}

export function metricExporter(
  target: OtlpTarget,
  settings: TelemetrySettings,
  extraCa: string | undefined,
): PushMetricExporter {
  const config = configOf(target, settings, extraCa);
  return settings.protocol === 'http/json' ? new JsonMetrics(config) : new ProtobufMetrics(config);
}

function configOf(
  { url, headers, timeoutMs }: OtlpTarget,
  { compression }: TelemetrySettings,
  extraCa: string | undefined,
): Config {
  return {
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    concurrencyLimit: MOST_AT_ONCE,
    compression: compression as NonNullable<Config['compression']>,
    httpAgentOptions: { keepAlive: true, secureContext: trust(extraCa)() },
  };
}
