// Changes of keys are read, worked out and written: who finds that another was faster starts again.
import { GatewayError } from '../lib/errors.ts';
import { failedOperation } from '../store/documents.ts';

const ATTEMPTS = 10;

/** @throws GatewayError what `change` throws; after ten lost races version_conflict or not_found. */
export async function untilWon<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (error) {
      if (attempt === ATTEMPTS || !isLostRace(error)) throw error;
    }
  }
}

/** Only what the commit itself says: what was read before has another version now, or is gone. */
function isLostRace(error: unknown): boolean {
  if (!(error instanceof GatewayError) || failedOperation(error) === undefined) return false;
  return error.reason === 'version_conflict' || error.reason === 'not_found';
}
