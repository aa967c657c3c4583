// An entry with other costs, as all adapters write it.

import type { AttemptRecord, RequestRecord } from '../../call/record.ts';
import type { Repriced } from '../log-store.ts';

/** The entry with the costs of a correction. What has a cost now is no longer without a price. */
export function repricedEntry(entry: RequestRecord, { cost, attempts }: Repriced): RequestRecord {
  const { cost: _, unpriced, ...rest } = entry;
  const own = entry.attempts.map((attempt, i) => pricedAttempt(attempt, attempts[i]));
  const isUnpriced = (attempt: AttemptRecord): boolean => attempt.unpriced === true;
  const still = own.some(isUnpriced) || (unpriced === true && !entry.attempts.some(isUnpriced));
  return {
    ...rest,
    attempts: own,
    ...(cost === undefined ? {} : { cost }),
    ...(still ? { unpriced: true } : {}),
  };
}

function pricedAttempt(attempt: AttemptRecord, cost: string | undefined): AttemptRecord {
  const { cost: _, unpriced, ...rest } = attempt;
  if (cost !== undefined) return { ...rest, cost };
  return unpriced ? { ...rest, unpriced } : rest;
}
