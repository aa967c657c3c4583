// What every opener of the composition root starts from.
import type { Logger } from 'pino';
import type { Settings } from '../settings.ts';
import type { Stores } from './stores.ts';

export interface Base {
  readonly settings: Settings;
  readonly log: Logger;
  readonly stores: Stores;
  /** Logs an error of work that no call waits for, with what could not be done. */
  readonly onTrouble: (error: unknown, what: string) => void;
}
