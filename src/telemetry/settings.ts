// The standard variables of OpenTelemetry that are followed
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and protocol/exporter/).

/** Where one signal goes. */
export interface OtlpTarget {
  readonly url: string;
  /** They may hold credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** What is exported, and how. */
export interface TelemetrySettings {
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
  readonly protocol: 'http/protobuf' | 'http/json';
  readonly compression: 'gzip' | 'none';
  /** Undefined: no spans. */
  readonly traces: OtlpTarget | undefined;
  /** Undefined: no metrics. */
  readonly metrics: OtlpTarget | undefined;
  readonly sampler: (typeof SAMPLERS)[number];
  /** From 0 to 1. */
  readonly ratio: number;
  /** Whether providers are told the trace. */
  readonly propagates: boolean;
  /** Of spans that wait. */
  readonly queue: { readonly size: number; readonly batch: number; readonly delayMs: number };
  readonly metricIntervalMs: number;
}

/** Reads one variable; the fallback where it is not set or, which is noted, cannot be used. */
export type ReadVariable = <T>(name: string, parse: (text: string) => T, fallback: T) => T;

/** Undefined: nothing is exported. */
export function readTelemetrySettings(read: ReadVariable): TelemetrySettings | undefined {
  const optional = <T>(name: string, parse: (text: string) => T): T | undefined =>
    read<T | undefined>(name, parse, undefined);
  const disabled = read('OTEL_SDK_DISABLED', (text) => text.trim().toLowerCase() === 'true', false);
  const base = optional('OTEL_EXPORTER_OTLP_ENDPOINT', endpoint);
  const headers = read('OTEL_EXPORTER_OTLP_HEADERS', pairs, {});
  const timeoutMs = read('OTEL_EXPORTER_OTLP_TIMEOUT', count(1, 600_000), 10_000);
  const settings: TelemetrySettings = {
    serviceName: read('OTEL_SERVICE_NAME', (text) => text, ''),
    resource: read('OTEL_RESOURCE_ATTRIBUTES', pairs, {}),
    protocol: read('OTEL_EXPORTER_OTLP_PROTOCOL', oneOf('http/protobuf', 'http/json'), 'http/protobuf'),
    compression: read('OTEL_EXPORTER_OTLP_COMPRESSION', oneOf('none', 'gzip'), 'none'),
    traces: target(
      read('OTEL_TRACES_EXPORTER', oneOf('otlp', 'none'), 'otlp'),
      optional('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', endpoint) ??
        (base && `${base.replace(/\/$/, '')}/v1/traces`),
      { ...headers, ...read('OTEL_EXPORTER_OTLP_TRACES_HEADERS', pairs, {}) },
      timeoutMs,
    ),
    metrics: target(
      read('OTEL_METRICS_EXPORTER', oneOf('otlp', 'none'), 'otlp'),
      optional('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', endpoint) ??
        (base && `${base.replace(/\/$/, '')}/v1/metrics`),
      { ...headers, ...read('OTEL_EXPORTER_OTLP_METRICS_HEADERS', pairs, {}) },
      timeoutMs,
    ),
    sampler: read('OTEL_TRACES_SAMPLER', oneOf(...SAMPLERS), 'parentbased_always_on'),
    ratio: read('OTEL_TRACES_SAMPLER_ARG', ratio, 1),
    propagates: read('OTEL_PROPAGATORS', propagators, true),
    queue: {
      size: read('OTEL_BSP_MAX_QUEUE_SIZE', count(1, 1_000_000), 2048),
      batch: read('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', count(1, 100_000), 512),
      delayMs: read('OTEL_BSP_SCHEDULE_DELAY', count(1, 600_000), 5000),
    },
    metricIntervalMs: read('OTEL_METRIC_EXPORT_INTERVAL', count(1, 3_600_000), 60_000),
  };
  // Delta would need each series' value at the last export; collectors can convert cumulative to delta.
  read('OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', oneOf('cumulative'), 'cumulative');
  const { traces, metrics, resource } = settings;
  if (disabled || (traces ?? metrics) === undefined) return undefined;
  return Object.freeze({
    ...settings,
    // The variable for the name wins over the resource's (specification, "Special configuration types").
    serviceName: settings.serviceName || resource['service.name'] || 'sluice',
  });
}

function target(
  exporter: 'otlp' | 'none',
  url: string | undefined,
  headers: OtlpTarget['headers'],
  timeoutMs: number,
): OtlpTarget | undefined {
  return exporter === 'none' || url === undefined ? undefined : { url, headers, timeoutMs };
}

function endpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Error('must be an address such as http://127.0.0.1:4318');
  if (url.username !== '' || url.password !== '')
    throw new Error('must hold no credentials: they go into OTEL_EXPORTER_OTLP_HEADERS');
  return text;
}

/** `name=value` with commas between, values percent-encoded (W3C Baggage's form without properties). */
function pairs(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const item of text.split(',')) {
    if (item.trim() === '') continue;
    const at = item.indexOf('=');
    const name = item.slice(0, at).trim();
    if (at < 1 || !/^[\x21-\x7e]+$/.test(name)) throw new Error('must be name=value with commas between');
    try {
      found[name] = decodeURIComponent(item.slice(at + 1).trim());
    } catch {
      throw new Error(`the value of ${name} is not percent-encoded as it should be`);
    }
  }
  return found;
}

function count(low: number, high: number): (text: string) => number {
  return (text) => {
    if (!/^\d{1,10}$/.test(text) || Number(text) < low || Number(text) > high)
      throw new Error(`must be a whole number from ${low} to ${high}`);
    return Number(text);
  };
}

function ratio(text: string): number {
  if (!/^(?:0|1|0?\.\d+|[01]\.\d*)$/.test(text) || Number(text) > 1)
    throw new Error('must be a number from 0 to 1');
  return Number(text);
}

function oneOf<const T extends string>(...words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((word) => word === text.trim().toLowerCase());
    if (found === undefined) throw new Error(`must be one of ${words.join(', ')}`);
    return found;
  };
}

/** Baggage is read and written by no part of the gateway: naming it changes nothing. */
function propagators(text: string): boolean {
  const words = text.split(',').map(oneOf('tracecontext', 'baggage', 'none'));
  return words.includes('tracecontext');
}
