// Random entries of the request log, odd ones among them, and random questions about them.

import type { RequestRecord } from '../../src/call/record.ts';
import type { LogFilter } from '../../src/store/request-log.ts';
import { logEntry } from './log-entries.ts';

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
export function dice(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export interface Traffic {
  entry(): RequestRecord;
  filter(): LogFilter;
  pick<T>(list: readonly T[]): T;
  chance(share: number): boolean;
}

const HOUR_MS = 3_600_000;
/** 2026-11-20, ten in the evening: traffic of a few hours is in two days. */
export const BEGIN = Date.UTC(2026, 10, 20, 22);
const SPAN = 5 * HOUR_MS;

const MODELS = ['gpt-4o', 'gpt-4o-mini', 'claude-sonnet-4-5', 'Ünïcode-Modell', 'o1', ''];
const PROVIDERS = ['openai', 'anthropic', 'OpenAI'];
const WORKSPACES = ['ws-1', 'ws-2', 'ws-3'];
const CODES = [200, 200, 200, 200, 201, 246, 400, 401, 404, 429, 500, 503];
const OUTCOMES = ['success', 'error', 'cancelled', 'interrupted'] as const;
const CACHE = [undefined, undefined, 'HIT', 'MISS', 'SEMANTIC HIT', 'SEMANTIC MISS', 'REFRESH'];
const COSTS = ['0', '1', '4250000', '77000000', '4503599627370497', '123456789012345678901', undefined];
const ERRORS = ['Rate limit REACHED for org', 'timeout', 'line\nbreak', 'ÄÖÜ ist zu groß', 'İstanbul'];

/** @param users how many different people there are. */
export function traffic(seed: number, organisationId: string, users = 40): Traffic {
  const random = dice(seed);
  const chance = (share: number): boolean => random() < share;
  const whole = (below: number): number => Math.floor(random() * below);
  const pick = <T>(list: readonly T[]): T => list[whole(list.length)] as T;
  const maybe = <K extends string, V>(share: number, key: K, value: () => V): { [key in K]?: V } =>
    (chance(share) ? { [key]: value() } : {}) as { [key in K]?: V };
  let made = 0;

  function metadata(): Record<string, string> {
    return {
      ...maybe(0.7, '_user', () => pick(['', 'u', `user-${whole(users)}`, `user-${whole(users)}`])),
      ...maybe(0.5, 'environment', () => pick(['prod', 'Test', 'line\nbreak', '\ud83d'])),
      ...maybe(0.02, `k${whole(100)}`, () => 'rare'),
      ...maybe(0.02, '__proto__x', () => 'p'),
    };
  }

  function entry(): RequestRecord {
    const n = made++;
    const statusCode = pick(CODES);
    const promptTokens = whole(5000);
    const completionTokens = whole(900);
    const cost = pick(COSTS);
    const cacheStatus = pick(CACHE);
    const latencyMs = chance(0.1) ? random() * 3000 : whole(40_000) / 1000;
    const base = logEntry({
      id: `id-${String(n).padStart(6, '0')}-${whole(1e6).toString(16)}`,
      organisationId,
      statusCode,
      createdAt: BEGIN + (chance(0.3) ? whole(50) : whole(SPAN)),
    });
    const { usage: _, ...rest } = base;
    return {
      ...rest,
      ...maybe(0.8, 'usage', () => ({
        promptTokens,
        ...maybe(0.9, 'completionTokens', () => completionTokens),
        totalTokens: promptTokens + completionTokens,
      })),
      traceId: `trace-${whole(60)}`,
      workspaceId: pick(WORKSPACES),
      apiKeyId: `key-${whole(8)}`,
      provider: pick(PROVIDERS),
      model: pick(MODELS),
      responseModel: pick(MODELS),
      latencyMs,
      ...(n % 3 === 0 ? { timeToFirstTokenMs: latencyMs / 2 } : {}),
      path: pick(['/v1/chat/completions', '/v1/embeddings', '/V1/Odd']),
      outcome: pick(OUTCOMES),
      metadata: metadata(),
      ...(cost === undefined ? {} : { cost }),
      ...(cacheStatus === undefined ? {} : { cacheStatus }),
      ...maybe(0.1, 'promptCacheSaved', () => pick(['7', '-3', '99999999999999999999'])),
      ...maybe(0.2, 'saved', () => pick(['1', '5000000', '99999999999999999999'])),
      ...maybe(0.2, 'error', () => ({ reason: 'upstream_status', message: pick(ERRORS) })),
      ...maybe(0.5, 'userId', () => `person-${whole(users)}`),
      ...maybe(0.4, 'config', () => `pc-${whole(4)}`),
      ...maybe(0.4, 'virtualKey', () => `vk-${whole(4)}`),
      ...maybe(0.3, 'prompt', () => `pp-${whole(4)}`),
      ...maybe(0.3, 'promptVersion', () => whole(4)),
      ...maybe(0.1, 'mode', () => 'fallback' as const),
      ...maybe(0.2, 'retries', () => whole(4)),
      ...maybe(0.1, 'rescued', () => true as const),
      ...maybe(0.1, 'spanId', () => `span-${whole(20)}`),
      ...maybe(0.1, 'keepDays', () => pick([1, 7])),
    };
  }

  function range(most: number): { min?: number; max?: number } {
    const [a, b] = [whole(most), whole(most)];
    return { ...maybe(0.7, 'min', () => Math.min(a, b)), ...maybe(0.7, 'max', () => Math.max(a, b)) };
  }

  const conditions: readonly (() => LogFilter)[] = [
    () => ({ from: BEGIN + whole(SPAN) }),
    () => ({ until: BEGIN + whole(SPAN) }),
    () => ({ from: BEGIN + HOUR_MS * whole(3), until: BEGIN + HOUR_MS * (3 + whole(3)) }),
    () => ({ statusCodes: [pick(CODES), pick(CODES)] }),
    () => ({ traceIds: [`trace-${whole(60)}`, `trace-${whole(70)}`] }),
    () => ({ spanIds: [`span-${whole(20)}`] }),
    () => ({ workspaceIds: [pick(WORKSPACES), 'ws-none'] }),
    () => ({ apiKeyIds: [`key-${whole(8)}`] }),
    () => ({ userIds: [`person-${whole(users)}`, `person-${whole(users)}`] }),
    () => ({ users: [`user-${whole(users)}`, pick(['', 'u'])] }),
    () => ({ providers: [pick(PROVIDERS)] }),
    () => ({ models: [pick(MODELS), pick(MODELS)] }),
    () => ({
      providerModels: [1, 2].map(() => ({ provider: pick(PROVIDERS), model: pick(MODELS) })),
    }),
    () => ({ virtualKeys: [`vk-${whole(4)}`] }),
    () => ({ configs: [`pc-${whole(4)}`] }),
    () => ({ prompts: [`pp-${whole(4)}`, `pp-${whole(5)}`] }),
    () => ({ cacheStatuses: [pick(['HIT', 'MISS', 'DISABLED', 'SEMANTIC HIT']), 'REFRESH'] }),
    () => ({ errorReasons: [pick(['upstream_status', 'nothing']), ''] }),
    () => ({ outcomes: [pick(OUTCOMES)] }),
    () => ({ metadata: { environment: pick(['prod', 'Test', 'line\nbreak', '\ud83d']) } }),
    () => ({ metadata: { [`k${whole(100)}`]: 'rare' } }),
    () => ({ metadata: { environment: 'prod', _user: `user-${whole(users)}` } }),
    () => ({ cost: { min: BigInt(pick(['0', '1', '77000000', '4503599627370497'])) } }),
    () => ({ cost: { max: BigInt(pick(['-1', '0', '77000000', '123456789012345678901'])) } }),
    () => ({ totalTokens: range(5900) }),
    () => ({ promptTokens: range(5000) }),
    () => ({ completionTokens: range(900) }),
    () => ({ latencyMs: range(60) }),
    () => ({
      text: pick(['RATE LIMIT', 'groß', 'i̇st', 'gpt-4O', 'id-0001', 'trace-4', 'prod', 'e\nb', 'nowhere']),
    }),
  ];

  return {
    entry,
    pick,
    chance,
    filter: () => {
      const filter: LogFilter = {};
      const some = whole(4);
      for (let i = 0; i < some; i++) Object.assign(filter, pick(conditions)());
      return filter;
    },
  };
}
