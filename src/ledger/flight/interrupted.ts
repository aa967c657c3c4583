// The entry of a call whose process ended before the call did.

import type { ChargedTo } from '../../call/account.ts';
import type { AttemptRecord, RequestRecord } from '../../call/record.ts';
import type { Charge, SettleRequest } from '../../store/shared-state.ts';
import { budgetNamed, chargedBudgets } from '../charged-budgets.ts';
import type { PriceList } from '../prices/price-list.ts';
import { pricedEntry } from '../prices/priced.ts';
import type { CallNote } from './lines.ts';

const ERROR = { reason: 'interrupted', message: 'the process that made the call ended before the call did' };

/**
 * Attempts that had ended stay as they were. The usage of the others is unknown: they count the most that they could
 * have used, marked as an estimate.
 * @param notes of one call, oldest first @param diedAt when its process ended, in Unix milliseconds
 */
export function entryOfInterrupted(
  notes: readonly CallNote[],
  diedAt: number,
  prices: PriceList,
): RequestRecord | undefined {
  const last = notes.at(-1);
  if (last === undefined) return undefined;
  const { call, streamed, ended, held } = last;
  const money = chargedBudgets(held);
  const known = new Map(ended.map((attempt) => [attempt.id, attempt]));
  const attempts = notes.map((note) => known.get(note.attempt.id) ?? interruptedAttempt(note, diedAt));
  const noted = new Set(notes.map(({ attempt }) => attempt.id));
  const { usage } = interruptedAttempt(last, diedAt);
  return pricedEntry(prices, {
    ...call,
    responseModel: '',
    statusCode: 0,
    outcome: 'interrupted',
    streamed,
    error: ERROR,
    latencyMs: Math.max(0, diedAt - call.createdAt),
    usage,
    usageEstimated: true,
    ...(money === undefined ? {} : { budgets: money }),
    attempts: [...ended.filter(({ id }) => !noted.has(id)), ...attempts],
  });
}

/** What the call is charged for its attempts. */
export function chargesOf(entry: RequestRecord, budgets: readonly ChargedTo[]): Charge[] {
  const tokens = entry.attempts.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0);
  const amounts = { cost: BigInt(entry.cost ?? 0), tokens: BigInt(tokens), requests: 1n } as const;
  return budgets.map(({ key, type }) => ({ key, amount: amounts[type] }));
}

/** What the holds of attempts' own ids are settled on. */
export function attemptOrders(entry: RequestRecord): SettleRequest[] {
  return entry.attempts.flatMap(({ id, budgets, cost, usage }) => {
    if (budgets === undefined) return [];
    const amounts = {
      cost: BigInt(cost ?? 0),
      tokens: BigInt(usage?.totalTokens ?? 0),
      requests: 1n,
    } as const;
    const charges = budgets.map(budgetNamed).map(({ key, type }) => ({ key, amount: amounts[type] }));
    return [{ id, charges }];
  });
}

function interruptedAttempt({ attempt }: CallNote, diedAt: number): AttemptRecord {
  const { id, provider, host, model, startedAt, input, output, budgets } = attempt;
  return {
    id,
    provider,
    host,
    model,
    startedAt,
    statusCode: 0,
    outcome: 'interrupted',
    error: ERROR,
    latencyMs: Math.max(0, diedAt - startedAt),
    usage: { promptTokens: input, completionTokens: output, totalTokens: input + output },
    usageEstimated: true,
    ...(budgets === undefined ? {} : { budgets }),
  };
}
