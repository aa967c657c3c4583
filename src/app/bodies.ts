// What is kept beside the entries of calls.
import type { Logger } from 'pino';
import { BodyLog } from '../ledger/bodies.ts';
import type { LogStore } from '../store/log-store.ts';

export function openBodies(store: LogStore, log: Logger): BodyLog {
  return new BodyLog({
    store,
    onTrouble: (error, count) => log.error({ err: error, count }, 'bodies of calls could not be stored'),
  });
}
