// Changes of keys are read, worked out and written: who finds that another was faster starts again.
import { GatewayError, type Reason } from '../../lib/errors.ts';
import { failedOperation } from '../../store/documents.ts';

const ATTEMPTS = 10;

/** What was read before has another version now, or is gone. */
export const LOST_RACE: ReadonlySet<Reason> = new Set(['version_conflict', 'not_found']);

/**
 * @param lost what a lost commit says
 * @throws GatewayError what `change` throws; after ten lost races what the commit says.
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

/** Only what the commit itself says. */
function isLostRace(error: unknown, lost: ReadonlySet<Reason>): boolean {
  return error instanceof GatewayError && failedOperation(error) !== undefined && lost.has(error.reason);
}
