// Traffic as it might have been, for tests: entries of every kind, made from a seed.
import type { RequestRecord } from '../../../src/call/record.ts';
import { createDice, type Dice } from '../../access/fuzz/dice.ts';
import { logEntry } from '../../store/log-entries.ts';

/** What entries are made of. */
export interface Ground {
  readonly organisationId: string;
  readonly workspaceIds: readonly string[];
  readonly apiKeyIds: readonly string[];
  /** Unix milliseconds. */
  readonly from: number;
  readonly until: number;
}

/** Values that entries share, for filters too. */
export const SHARED = {
  models: ['gpt-4o', 'gpt-4o-mini', 'claude-3-5-haiku-latest', 'text-embedding-3-small'],
  providers: ['openai', 'anthropic', 'groq'],
  virtualKeys: ['prod-openai', 'backup', 'shared-anthropic'],
  configs: ['pc-first-a1b2c3', 'pc-second-d4e5f6'],
  prompts: ['pp-hello-a1b2c3', 'pp-bye-d4e5f6'],
  users: ['ann', 'bob', 'ünal 字', 'dave', 'eve', 'o\'hara, "q"'],
  teams: ['blue', 'green', 'a/b c?d=1&e', ''],
  traces: Array.from({ length: 40 }, (_, i) => `trace-${i}`),
  statuses: [200, 200, 200, 200, 201, 204, 302, 400, 404, 429, 446, 500, 502, 503],
  reasons: ['upstream_status', 'rate_limited', 'upstream_timeout'],
  cacheStatuses: ['HIT', 'SEMANTIC HIT', 'MISS', 'SEMANTIC MISS', 'REFRESH'],
} as const;

/** Entries all over a range of time. Most are of a few hours, so that stretches of time hold several. */
export function traffic(ground: Ground, seed: number, count: number): RequestRecord[] {
  const dice = createDice(seed);
  return Array.from({ length: count }, (_, i) => entry(ground, dice, `entry-${seed}-${i}`));
}

function entry(ground: Ground, dice: Dice, id: string): RequestRecord {
  const { from, until, organisationId } = ground;
  const cacheStatus = dice.chance(0.4) ? dice.pick(SHARED.cacheStatuses) : undefined;
  const hit = cacheStatus?.endsWith('HIT') ?? false;
  const span = dice.chance(0.5) ? (until - from) / 50 : until - from;
  const usage = { promptTokens: dice.below(5000), completionTokens: dice.below(900) };
  const given: Partial<RequestRecord> = {
    organisationId,
    statusCode: dice.pick(SHARED.statuses),
    workspaceId: dice.pick(ground.workspaceIds),
    apiKeyId: dice.pick(ground.apiKeyIds),
    createdAt: from + Math.floor(dice.next() * span),
    traceId: dice.pick(SHARED.traces),
    model: dice.pick(SHARED.models),
    provider: dice.pick(SHARED.providers),
    latencyMs: Math.round(10 ** (dice.next() * 5) * 1000) / 1000,
    metadata: metadata(dice),
  };
  const { usage: _, cost: __, ...whole } = logEntry({ id, ...given });
  return {
    ...whole,
    ...(dice.chance(0.8) && {
      usage: { ...usage, totalTokens: usage.promptTokens + usage.completionTokens },
      // Odd prices, and sums that no floating-point number holds.
      cost: String(BigInt(dice.below(2 ** 31)) * BigInt(dice.below(2 ** 20)) + 1n),
    }),
    ...(cacheStatus !== undefined && { cacheStatus }),
    ...(hit && { saved: String(dice.below(2 ** 31) * 1000 + 7) }),
    ...(dice.chance(0.3) && { virtualKey: dice.pick(SHARED.virtualKeys) }),
    ...(dice.chance(0.3) && { config: dice.pick(SHARED.configs) }),
    ...(dice.chance(0.3) && { prompt: dice.pick(SHARED.prompts) }),
    ...(dice.chance(0.2) && { retries: 1 + dice.below(3) }),
    ...(dice.chance(0.1) && { rescued: true as const }),
    ...(dice.chance(0.2) && { error: { reason: dice.pick(SHARED.reasons), message: 'no' } }),
  };
}

function metadata(dice: Dice): Record<string, string> {
  return {
    ...(dice.chance(0.7) && { _user: dice.pick(SHARED.users) }),
    ...(dice.chance(0.5) && { 'team name': dice.pick(SHARED.teams) }),
  };
}
