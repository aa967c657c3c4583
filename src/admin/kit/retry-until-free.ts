// Values that the gateway chooses, or passes from one thing to another, may be taken in the same moment: then it
// tries again with others.
import { GatewayError } from '../../lib/errors.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

const ATTEMPTS = 5;

/**
 * As `retryOnConflict`; also starts again when one of `fields` is taken.
 * @throws GatewayError what `change` throws; conflict after five attempts.
 */
export async function retryUntilFree<T>(fields: readonly string[], change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await retryOnConflict(change);
    } catch (error) {
      if (attempt === ATTEMPTS || !isTaken(error, fields)) throw error;
    }
  }
}

function isTaken(error: unknown, fields: readonly string[]): boolean {
  if (!(error instanceof GatewayError) || error.reason !== 'conflict') return false;
  const { violations = [] } = error.details;
  return violations.length > 0 && violations.every(({ field }) => fields.includes(field));
}
