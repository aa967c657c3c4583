// Queries as callers might write them, each with the plain condition that it stands for.
import type { Dice } from '../../access/fuzz/dice.ts';
import type { Listed } from './recount.ts';
import { type Ground, SHARED } from './traffic.ts';

export interface Asked {
  readonly query: Readonly<Record<string, string>>;
  readonly from: number;
  readonly until: number;
  /** Whether an entry is meant, its time included. */
  readonly means: (one: Listed) => boolean;
}

interface Condition {
  readonly query: Readonly<Record<string, string>>;
  readonly means: (one: Listed) => boolean;
}

const list = (
  name: string,
  dice: Dice,
  values: readonly string[],
  of: (one: Listed) => string | undefined,
) => {
  const chosen = dice.some(values, 0.4);
  if (chosen.length === 0) chosen.push(dice.pick(values));
  return { query: { [name]: chosen.join(',') }, means: (one: Listed) => chosen.includes(of(one) ?? '\0') };
};

const range = (name: string, dice: Dice, most: number, of: (one: Listed) => number): Condition => {
  const [low = 0, high = 0] = [dice.below(most), dice.below(most)].sort((a, b) => a - b);
  const end = dice.pick(['min', 'max', 'both']);
  return {
    query: {
      ...(end !== 'max' && { [`${name}_min`]: String(low) }),
      ...(end !== 'min' && { [`${name}_max`]: String(high) }),
    },
    means: (one) => (end === 'max' || of(one) >= low) && (end === 'min' || of(one) <= high),
  };
};

/** Filters that are about the entry alone. */
const CONDITIONS: readonly ((dice: Dice, ground: Ground) => Condition)[] = [
  (dice) => list('status_code', dice, ['200', '204', '404', '500'], (one) => String(one.status_code)),
  (dice) => list('virtual_keys', dice, SHARED.virtualKeys, (one) => one.virtual_key),
  (dice) => list('configs', dice, SHARED.configs, (one) => one.config),
  (dice) => list('prompt_slug', dice, SHARED.prompts, (one) => one.prompt),
  (dice) => list('trace_id', dice, SHARED.traces, (one) => one.trace_id),
  (dice) => list('cache_status', dice, [...SHARED.cacheStatuses, 'DISABLED'], (one) => one.cache_status),
  (dice) => list('error_reason', dice, SHARED.reasons, (one) => one.error?.reason),
  (dice, { apiKeyIds }) => list('api_key_ids', dice, apiKeyIds, (one) => one.api_key_id),
  (dice) =>
    list(
      'ai_org_model',
      dice,
      SHARED.providers.flatMap((provider) => SHARED.models.map((model) => `${provider}__${model}`)),
      (one) => `${one.provider}__${one.model}`,
    ),
  (dice, { workspaceIds }) => {
    const workspace = dice.pick(workspaceIds);
    return { query: { workspace_slug: workspace }, means: (one) => one.workspace_id === workspace };
  },
  (dice) => {
    const _user = dice.pick(SHARED.users);
    return { query: { metadata: JSON.stringify({ _user }) }, means: (one) => one.metadata?._user === _user };
  },
  (dice) => range('cost', dice, 50_000, (one) => Number(`${one.cost_exact ?? '0'}e-10`)),
  (dice) => range('total_units', dice, 6000, ({ usage }) => usage?.total_tokens ?? 0),
  (dice) => range('prompt_token', dice, 5000, ({ usage }) => usage?.prompt_tokens ?? 0),
  (dice) => range('completion_token', dice, 900, ({ usage }) => usage?.completion_tokens ?? 0),
];

/** The filter over feedback, which is about its trace: of a workspace what was given there. */
function feedbackMean(dice: Dice, ofWorkspace: boolean): Condition {
  const [min = 0, max = 0] = [dice.next() * 10 - 5, dice.next() * 10 - 5].sort((a, b) => a - b);
  return {
    query: { weighted_feedback_min: min.toFixed(3), weighted_feedback_max: max.toFixed(3) },
    means: ({ weighted_feedback: all, own_feedback: own }) => {
      const mean = ofWorkspace ? own : all;
      return mean !== undefined && mean >= Number(min.toFixed(3)) && mean <= Number(max.toFixed(3));
    },
  };
}

/** A range of time inside the ground's, or about it, with some conditions. */
export function asking(dice: Dice, ground: Ground): Asked {
  const { from, until } = rangeOf(dice, ground);
  const conditions = dice.some(CONDITIONS, dice.chance(0.5) ? 0 : 0.12).map((make) => make(dice, ground));
  const ofWorkspace = conditions.some(({ query }) => 'workspace_slug' in query);
  if (dice.chance(0.25)) conditions.push(feedbackMean(dice, ofWorkspace));
  return {
    from,
    until,
    query: Object.assign(
      {
        time_of_generation_min: new Date(from).toISOString(),
        time_of_generation_max: new Date(until).toISOString(),
      },
      ...conditions.map(({ query }) => query),
    ) as Record<string, string>,
    means: (one) => {
      const at = Date.parse(one.created_at);
      return at >= from && at < until && conditions.every(({ means }) => means(one));
    },
  };
}

function rangeOf(dice: Dice, ground: Ground): { readonly from: number; readonly until: number } {
  const spans = [3, 8, 30, 24 * 9, 24 * 40].map((hours) => hours * 3_600_000);
  if (dice.chance(0.3)) return { from: ground.from, until: ground.until };
  const from = ground.from + Math.floor(((dice.next() - 0.2) * (ground.until - ground.from)) / 4);
  return { from, until: from + dice.pick(spans) + dice.below(60_000) };
}
