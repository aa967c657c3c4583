// What both forms of the command need.
import type { Settings } from '../settings.ts';
import type { Collection } from '../store/collection.ts';

export interface MigrateDeps {
  readonly settings: Settings;
  readonly collections: readonly Collection<object>[];
  /** One line for people. */
  readonly say: (line: string) => void;
}

/** How long a call to a store may take, in milliseconds: a command may wait longer than a request. */
export const DEADLINE_MS = 60_000;
