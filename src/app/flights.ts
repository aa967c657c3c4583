// Where this process writes its calls in flight: in the data folder.
import type { Logger } from 'pino';
import { type OpenInFlightJournal, openInFlightJournal } from '../ledger/flight/open-in-flight-journal.ts';
import type { Settings } from '../settings.ts';

/** Undefined where nothing can be written, which an instance on MongoDB and Redis needs not. @throws Error for people */
export async function openOwnFlights(
  { dataDir, redisUrl, holdMs }: Settings,
  log: Logger,
): Promise<OpenInFlightJournal | undefined> {
  // Its client is read when there is a Redis.
  const copies = redisUrl === undefined ? undefined : await import('../store/redis/flights.ts');
  try {
    return openInFlightJournal({
      dataDir,
      // A gone process is found before its holds expire.
      beatMs: holdMs / 6,
      ...(redisUrl === undefined || copies === undefined
        ? {}
        : { mirrorOf: (owner) => copies.redisFlights({ url: redisUrl, owner, lapseMs: holdMs / 2 }) }),
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
