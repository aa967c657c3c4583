// The bodies of calls, where the settings keep them.
import type { Logger } from 'pino';
import { BodyLog } from '../ledger/bodies.ts';
import type { Settings } from '../settings.ts';
import type { LogStore } from '../store/log-store.ts';

/** Undefined: none are kept. */
export function openBodies(
  settings: Pick<Settings, 'logBodies'>,
  store: LogStore,
  log: Logger,
): BodyLog | undefined {
  if (settings.logBodies !== 'full') return undefined;
  return new BodyLog({
    store,
    onTrouble: (error, count) => log.error({ err: error, count }, 'bodies of calls could not be stored'),
  });
}
