// Changes of keys are read, computed and written: a change that loses a race starts again.
import { GatewayError, type Reason } from '../../lib/errors.ts';
import { failedOperation } from '../../store/documents.ts';

const ATTEMPTS = 10;

/** A document that was read before has another version now, or is archived. */
export const LOST_RACE: ReadonlySet<Reason> = new Set(['version_conflict', 'not_found']);

/**
 * @param lost the reasons of a lost commit
 * @throws GatewayError what `change` throws; after ten lost races the commit's error.
 */
export async function retryOnConflict<T>(
  change: () => Promise<T>,
  lost: ReadonlySet<Reason> = LOST_RACE,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (error) {
      if (attempt === ATTEMPTS || !isLostRace(error, lost)) throw error;
    }
  }
}

/** Only the commit's own errors. */
function isLostRace(error: unknown, lost: ReadonlySet<Reason>): boolean {
  return error instanceof GatewayError && failedOperation(error) !== undefined && lost.has(error.reason);
}
