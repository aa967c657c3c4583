// The series of model calls as Prometheus shows them.
import type { Distribution } from './distribution.ts';
import { byLabel, type Family, histogramSamples, type Sample } from './family.ts';
import type { AttemptSeries, CallSeries, UsageSeries } from './usage-series.ts';

const USD = 1e-12;
const MODEL = ['operation', 'provider', 'model'];
const STATUS_CLASSES = ['other', '1xx', '2xx', '3xx', '4xx', '5xx'];

/** All families of model calls. */
export function usageFamilies(usage: UsageSeries): Family[] {
  return [...callFamilies(usage), ...attemptFamilies(usage), ...checkFamilies(usage)];
}

function callFamilies(usage: UsageSeries): Family[] {
  return [
    {
      name: 'sluice_requests_total',
      help: 'Model calls that have ended, by class of their status',
      type: 'counter',
      labels: [...MODEL, 'status_class'],
      aggregation: 'sum',
      samples: () => usage.calls().flatMap(statusSamples),
    },
    perCall(
      usage,
      'sluice_retries_total',
      'Calls of a target beyond its first one',
      ({ retries }) => retries,
    ),
    perCall(
      usage,
      'sluice_fallbacks_total',
      'Model calls answered by another target than the one tried first',
      ({ rescued }) => rescued,
    ),
  ];
}

function attemptFamilies(usage: UsageSeries): Family[] {
  return [
    perAttempt(
      usage,
      'sluice_attempt_duration_seconds',
      'Time of a call of a provider; error is its status or our reason, and empty when nothing failed',
      ({ durations }) => durations,
      true,
    ),
    perAttempt(
      usage,
      'sluice_time_to_first_token_seconds',
      'Time from the request to a provider to the first chunk of its stream, of streams that succeeded',
      ({ firstTokens }) => firstTokens,
      false,
    ),
    {
      name: 'sluice_tokens_total',
      help: 'Tokens used, by type: input, output, cached_input and cache_write (parts of input), reasoning (part of output)',
      type: 'counter',
      labels: [...MODEL, 'type'],
      aggregation: 'sum',
      samples: () => grouped(usage, tokensOf),
    },
    {
      name: 'sluice_cost_usd_total',
      help: 'What calls of providers cost, in US dollars',
      type: 'counter',
      labels: MODEL,
      aggregation: 'sum',
      restricted: true,
      samples: () => grouped(usage, ({ cost }) => [['', cost * USD]]),
    },
    {
      name: 'sluice_unpriced_attempts_total',
      help: 'Calls of providers that used tokens and have no price',
      type: 'counter',
      labels: MODEL,
      aggregation: 'sum',
      restricted: true,
      samples: () => grouped(usage, ({ unpriced }) => [['', unpriced]]),
    },
    {
      name: 'sluice_usage_reports_refused_total',
      help: 'Reports of usage that cannot be true (negative, not whole, contradictory), estimated instead',
      type: 'counter',
      labels: MODEL,
      aggregation: 'sum',
      samples: () => grouped(usage, ({ refused }) => [['', refused]]),
    },
  ];
}

/** Of what comes before a provider is called: the cache and guardrails. */
function checkFamilies(usage: UsageSeries): Family[] {
  return [
    byLabel(
      'sluice_cache_lookups_total',
      'Lookups in the response cache, by result: hit, semantic_hit, miss, semantic_miss, refresh',
      'result',
      () => usage.cache,
    ),
    byLabel(
      'sluice_guardrail_runs_total',
      'Guardrail runs, by verdict: passed, failed',
      'verdict',
      () => usage.guardrails,
    ),
  ];
}

function statusSamples({ labels, statuses }: CallSeries): Sample[] {
  const { operation, provider, model } = labels;
  return statuses.flatMap((value, i) =>
    value === 0 ? [] : [{ labels: { operation, provider, model, status_class: STATUS_CLASSES[i]! }, value }],
  );
}

function perCall(
  usage: UsageSeries,
  name: string,
  help: string,
  read: (series: CallSeries) => number,
): Family {
  const samples = (): Sample[] =>
    usage.calls().flatMap((series) => {
      const { operation, provider, model } = series.labels;
      return provider === '' ? [] : [{ labels: { operation, provider, model }, value: read(series) }];
    });
  return { name, help, type: 'counter', labels: MODEL, aggregation: 'sum', samples };
}

/** @param failed whether failed attempts have series of their own; else only successful ones are shown */
function perAttempt(
  usage: UsageSeries,
  name: string,
  help: string,
  read: (series: AttemptSeries) => Distribution | undefined,
  failed: boolean,
): Family {
  const samples = (): Sample[] =>
    usage.attempts().flatMap((series) => {
      const { operation, provider, model, error } = series.labels;
      const distribution = read(series);
      if (distribution === undefined || (!failed && error !== '')) return [];
      const labels = { operation, provider, model };
      return histogramSamples(name, failed ? { ...labels, error } : labels, distribution);
    });
  const labels = failed ? [...MODEL, 'error'] : MODEL;
  return { name, help, type: 'histogram', labels, aggregation: 'sum', samples };
}

function tokensOf({ input, output, cached, cacheWritten, reasoning }: AttemptSeries): [string, number][] {
  return [
    ['input', input?.sum ?? 0],
    ['output', output?.sum ?? 0],
    ['cached_input', cached],
    ['cache_write', cacheWritten],
    ['reasoning', reasoning],
  ];
}

/** Totals by error of attempts; a word is the label `type`. */
function grouped(
  usage: UsageSeries,
  read: (series: AttemptSeries) => readonly (readonly [string, number])[],
) {
  const totals = new Map<string, { labels: Record<string, string>; value: number }>();
  for (const series of usage.attempts()) {
    const { operation, provider, model } = series.labels;
    for (const [type, value] of read(series)) {
      const key = [operation, provider, model, type].join('\0');
      const sum = totals.get(key);
      if (sum !== undefined) sum.value += value;
      else if (value !== 0)
        totals.set(key, { labels: { operation, provider, model, ...(type === '' ? {} : { type }) }, value });
    }
  }
  return [...totals.values()];
}
