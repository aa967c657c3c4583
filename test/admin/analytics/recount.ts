// What analytics must answer, counted again from entries as GET /logs lists them: plainly, and apart from the code
// that answers them.

/** An entry as it is listed. */
export interface Listed {
  readonly id: string;
  readonly trace_id: string;
  readonly workspace_id: string;
  readonly api_key_id: string;
  readonly created_at: string;
  readonly provider: string;
  readonly model: string;
  readonly status_code: number;
  readonly latency_ms: number;
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens?: number;
    readonly total_tokens: number;
  };
  readonly metadata?: Readonly<Record<string, string>>;
  readonly cost_exact?: string;
  readonly saved_exact?: string;
  readonly error?: { readonly reason: string };
  readonly cache_status: string;
  readonly config?: string;
  readonly virtual_key?: string;
  readonly prompt?: string;
  readonly retries: number;
  readonly rescued: boolean;
  readonly weighted_feedback?: number;
  /** The mean of what was given in the entry's workspace alone. */
  own_feedback?: number | undefined;
}

/** Feedback with the entry that it is about. */
export interface Opinion {
  readonly trace_id: string;
  readonly value: number;
  readonly weight: number;
  readonly created_at: string;
  readonly entry?: Listed | undefined;
}

/** Percentiles come off histograms: they are right within 1 %. */
export class Percentile {
  readonly exact: number;

  constructor(latencies: readonly number[], share: number) {
    const sorted = [...latencies].sort((a, b) => a - b);
    this.exact = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  }

  accepts(value: unknown): boolean {
    return typeof value === 'number' && Math.abs(value - this.exact) <= this.exact * 0.0101 + 0.001;
  }
}

type Json = Record<string, unknown>;
type Count = (entries: readonly Listed[]) => Json;

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const mean = (numbers: readonly number[]): number =>
  numbers.length === 0 ? 0 : sum(numbers) / numbers.length;
const share = (part: number, all: number): number => (all === 0 ? 0 : (part * 100) / all);
const exact = (entries: readonly Listed[]): bigint =>
  entries.reduce((all, { cost_exact }) => all + BigInt(cost_exact ?? '0'), 0n);
/** 1e-12 US dollars are 1e-10 US cents. */
const cents = (amount: bigint): number => Number(`${amount}e-10`);
const tokens = (entries: readonly Listed[]): number[] => entries.map(({ usage }) => usage?.total_tokens ?? 0);
const failed = (entries: readonly Listed[]): Listed[] =>
  entries.filter(({ status_code }) => status_code >= 400);
const simple = (entries: readonly Listed[]): Listed[] => entries.filter((one) => one.cache_status === 'HIT');
const semantic = (entries: readonly Listed[]): Listed[] =>
  entries.filter((one) => one.cache_status === 'SEMANTIC HIT');
const hits = (entries: readonly Listed[]): Listed[] => [...simple(entries), ...semantic(entries)];
const users = (entries: readonly Listed[]): number =>
  new Set(entries.map(({ metadata }) => metadata?._user).filter((user) => user !== undefined && user !== ''))
    .size;
const latencies = (entries: readonly Listed[]): number[] => entries.map(({ latency_ms }) => latency_ms);

function tally<T extends string | number>(values: readonly T[]): [T, number][] {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

const total: Count = (entries) => ({ total: entries.length });
const cost: Count = (entries) => ({
  total: cents(exact(entries)),
  avg: entries.length === 0 ? 0 : cents(exact(entries)) / entries.length,
  total_exact: String(exact(entries)),
});
const latency: Count = (entries) => ({
  avg: mean(latencies(entries)),
  p50: new Percentile(latencies(entries), 0.5),
  p90: new Percentile(latencies(entries), 0.9),
  p99: new Percentile(latencies(entries), 0.99),
});
const tokenCount: Count = (entries) => ({ total: sum(tokens(entries)), avg: mean(tokens(entries)) });
const errorRate: Count = (entries) => ({ rate: share(failed(entries).length, entries.length) });
const perUser = (entries: readonly Listed[]): number => {
  const unique = users(entries);
  return unique === 0 ? 0 : entries.length / unique;
};
const retried = (entries: readonly Listed[]): Listed[] =>
  entries.filter(({ status_code, retries }) => status_code >= 200 && status_code < 300 && retries > 0);
const rescued = (entries: readonly Listed[]): number =>
  entries.filter((one) => one.status_code >= 200 && one.status_code < 300 && one.rescued).length;

/** Graphs over time of entries, by path: the summary of all, and a point's members of those in its time. */
export const GRAPHS: Readonly<Record<string, { readonly summary: Count; readonly point: Count }>> = {
  requests: { summary: total, point: total },
  cost: { summary: cost, point: cost },
  latency: { summary: latency, point: latency },
  tokens: { summary: tokenCount, point: tokenCount },
  users: { summary: (all) => ({ total: users(all) }), point: (some) => ({ total: users(some) }) },
  'users/requests': {
    summary: (all) => ({ total: all.length, unique: users(all), avg: perUser(all) }),
    point: (some) => ({ avg: perUser(some) }),
  },
  errors: { summary: (all) => total(failed(all)), point: (some) => total(failed(some)) },
  'errors/rate': { summary: errorRate, point: errorRate },
  'errors/stacks': {
    summary: (all) => total(failed(all)),
    point: (some) => ({
      stats: tally(failed(some).map((one) => one.status_code)).map(([response_status_code, count]) => ({
        response_status_code,
        count,
      })),
    }),
  },
  'requests/rescued': {
    summary: (all) => ({ retry: retried(all).length, fallback: rescued(all) }),
    point: (some) => ({
      retry: tally(retried(some).map(({ retries }) => retries)).map(([retry_success_count, count]) => ({
        retry_success_count,
        count,
      })),
      fallback: rescued(some),
    }),
  },
  'cache/latency': { summary: () => ({}), point: (some) => ({ avg: mean(latencies(hits(some))) }) },
};

export const errorCodes = (entries: readonly Listed[]): Json => ({
  summary: {
    total_errors: failed(entries).length,
    unique_error_codes: new Set(failed(entries).map((one) => one.status_code)).size,
  },
  data_points: tally(failed(entries).map((one) => one.status_code)).map(([status_code, count]) => ({
    status_code,
    count,
  })),
});

const saved = (entries: readonly Listed[]): bigint =>
  entries.reduce((all, one) => all + BigInt(one.saved_exact ?? '0'), 0n);

/** @param slots the entries of each stretch of time, oldest first */
export function hitRate(slots: readonly (readonly Listed[])[]): { summary: Json; points: Json[] } {
  const all = slots.flat();
  let [savedSimply, savedByMeaning] = [0n, 0n];
  return {
    summary: { total: hits(all).length, rate: share(hits(all).length, all.length) },
    points: slots.map((some) => {
      savedSimply += saved(simple(some));
      savedByMeaning += saved(semantic(some));
      return {
        simple_hits: simple(some).length,
        semantic_hits: semantic(some).length,
        rate: share(hits(some).length, some.length),
        cumulative_simple_cache_savings: cents(savedSimply),
        cumulative_semantic_cache_savings: cents(savedByMeaning),
        cumulative_simple_cache_savings_exact: String(savedSimply),
        cumulative_semantic_cache_savings_exact: String(savedByMeaning),
      };
    }),
  };
}

export const cacheSummary = (entries: readonly Listed[]): Json => {
  const others = entries.filter(({ cache_status }) => !cache_status.endsWith('HIT'));
  const [hit, other] = [mean(latencies(hits(entries))), mean(latencies(others))];
  return {
    hits: hits(entries).length,
    avg_latency: hit,
    total_requests: entries.length,
    cache_speedup: hits(entries).length === 0 || other === 0 ? 0 : ((other - hit) / other) * 100,
  };
};

const times = (entries: readonly Listed[]): string[] => entries.map((one) => one.created_at).sort();

/** Columns of groups, by name. */
export const COLUMNS: Readonly<Record<string, Count>> = {
  requests: () => ({}),
  cost: (some) => ({ cost: cents(exact(some)), cost_exact: String(exact(some)) }),
  total_tokens: (some) => ({ total_tokens: sum(tokens(some)) }),
  avg_tokens: (some) => ({ avg_tokens: mean(tokens(some)) }),
  avg_input_tokens: (some) => ({
    avg_input_tokens: mean(some.map(({ usage }) => usage?.prompt_tokens ?? 0)),
  }),
  avg_output_tokens: (some) => ({
    avg_output_tokens: mean(some.map(({ usage }) => usage?.completion_tokens ?? 0)),
  }),
  avg_latency: (some) => ({ avg_latency: mean(latencies(some)) }),
  p95_latency: (some) => ({ p95_latency: new Percentile(latencies(some), 0.95) }),
  p99_latency: (some) => ({ p99_latency: new Percentile(latencies(some), 0.99) }),
  success_rate: (some) => ({
    success_rate: share(
      some.filter((one) => one.status_code >= 200 && one.status_code < 300).length,
      some.length,
    ),
  }),
  error_count: (some) => ({ error_count: failed(some).length }),
  cache_hit_rate: (some) => ({ cache_hit_rate: share(hits(some).length, some.length) }),
  last_seen: (some) => (some.length === 0 ? {} : { last_seen: times(some).at(-1) }),
  first_seen: (some) => (some.length === 0 ? {} : { first_seen: times(some)[0] }),
};

/** What an entry's group is, by group_by. */
export const DIMENSIONS: Readonly<Record<string, (one: Listed) => string | number>> = {
  ai_service: (one) => one.provider,
  model: (one) => one.model,
  status_code: (one) => one.status_code,
  api_key: (one) => one.api_key_id,
  config: (one) => one.config ?? '',
  workspace: (one) => one.workspace_id,
  provider: (one) => one.virtual_key ?? '',
  prompt: (one) => one.prompt ?? '',
};

/** Entries by what they have in common; those without it are left out. */
export function grouped<K>(
  entries: readonly Listed[],
  keyOf: (one: Listed) => K | undefined,
): Map<K, Listed[]> {
  const groups = new Map<K, Listed[]>();
  for (const one of entries) {
    const key = keyOf(one);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return groups;
}

export const userGroup = (user: string, some: readonly Listed[]): Json => ({
  object: 'analytics-group',
  user,
  requests: String(some.length),
  cost: decimal(exact(some)),
});

/** US cents without loss: ten decimals, zeros at the end left out. */
function decimal(amount: bigint): string {
  const scale = 10n ** 10n;
  const text = `${amount / scale}.${String(amount % scale).padStart(10, '0')}`;
  return text.replace(/\.?0+$/, '');
}

export const figures = (some: readonly Listed[]): Json => ({
  object: 'analytics-group',
  requests: some.length,
  cost: cents(exact(some)),
  cost_exact: String(exact(some)),
});

export const metadataGroup = (
  metadata_value: string,
  some: readonly Listed[],
  opinions: readonly Opinion[],
): Json => ({
  ...figures(some),
  metadata_value,
  avg_tokens: mean(tokens(some)),
  avg_weighted_feedback: weighted(opinions),
  requests_with_feedback: new Set(opinions.map(({ trace_id }) => trace_id)).size,
  last_seen: times(some).at(-1),
});

export const weighted = (opinions: readonly Opinion[]): number =>
  mean(opinions.map(({ value, weight }) => value * weight));

export const scores = (opinions: readonly Opinion[]): Json => ({
  summary: { total: opinions.length },
  data_points: tally(opinions.map(({ value }) => value))
    .sort(([a], [b]) => a - b)
    .map(([score, count]) => ({ score, total: count })),
});

export const feedbackModels = (opinions: readonly Opinion[]): Json => ({
  summary: {},
  data_points: tally(opinions.map(({ entry }) => entry?.model ?? '')).map(([ai_model, count]) => ({
    ai_model,
    total: count,
    avg_weighted_feedback: weighted(opinions.filter(({ entry }) => (entry?.model ?? '') === ai_model)),
  })),
});
