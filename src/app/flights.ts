// Where this process writes its calls in flight: in the data folder.
import type { Logger } from 'pino';
import { type OpenFlights, openFlights } from '../ledger/flight/open.ts';
import type { Settings } from '../settings.ts';

/** Undefined where nothing can be written, which an instance on MongoDB and Redis needs not. @throws Error for people */
export function openOwnFlights({ dataDir, redisUrl }: Settings, log: Logger): OpenFlights | undefined {
  try {
    return openFlights({
      dataDir,
      onTrouble: (error, what) => log.error({ err: error }, what),
      onLost: (count) =>
        log.error({ count }, 'request log: entries were dropped because the store does not take them'),
      onReplayed: (found) => log.info(found, 'calls that a killed process left are in the books'),
    });
  } catch (error) {
    if (redisUrl === undefined)
      throw new Error(`the data directory ${dataDir} cannot be written`, { cause: error });
    log.warn({ err: error }, 'the data directory cannot be written: a kill loses calls without limits');
    return undefined;
  }
}
