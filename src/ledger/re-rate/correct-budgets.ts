// Corrects what budgets counted, each exactly once: the correction and its mark are one step of the shared store.
import type { SharedState } from '../../store/shared-state.ts';
import { MOST } from '../limits/rule.ts';
import type { PendingBatch } from './run.ts';

/** How often a correction is retried after calls were settled in between. */
const TURNS = 1000;

/** @throws GatewayError store_unavailable, Error when calls keep coming in between */
export async function correctBudgets(
  state: Pick<SharedState, 'readBudget' | 'correctBudget'>,
  organisationId: string,
  { number, deltas }: PendingBatch,
): Promise<void> {
  for (const { key, amount } of deltas)
    await correct(state, organisationId, key, BigInt(amount), BigInt(number));
}

async function correct(
  state: Pick<SharedState, 'readBudget' | 'correctBudget'>,
  organisationId: string,
  key: string,
  amount: bigint,
  number: bigint,
): Promise<void> {
  const markKey = `re-rate:${key}`;
  for (let turn = 0; turn < TURNS; turn++) {
    const mark = await state.readBudget(organisationId, { key: markKey });
    // An earlier run, which was killed, made it.
    if (mark.spent >= number) return;
    const { spent } = await state.readBudget(organisationId, { key });
    const sum = spent + amount;
    const to = sum < 0n ? 0n : sum > MOST ? MOST : sum;
    const { corrected } = await state.correctBudget(organisationId, {
      key,
      from: spent,
      to,
      mark: { key: markKey, from: mark.spent, to: number },
    });
    if (corrected) return;
  }
  throw new Error(`the budget ${key} is charged too often to be corrected: try again later`);
}
