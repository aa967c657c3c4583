// All providers.
import { theNearest } from '../../lib/nearest-names.ts';
import type { ProviderEntry } from '../dialect.ts';
import * as entries from './entries.ts';

/** Every provider, frozen: no code can change a provider's address at run time. */
export const providers: readonly ProviderEntry[] = Object.freeze(
  Object.values<ProviderEntry>(entries).map(frozen),
);

const byId: ReadonlyMap<string, ProviderEntry> = new Map(providers.map((entry) => [entry.id, entry]));

/** The provider with this identifier; undefined when there is none. */
export function providerById(id: string): ProviderEntry | undefined {
  return byId.get(id);
}

function frozen<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) frozen(inner);
  }
  return Object.freeze(value);
}

/** `; the nearest: …` of an identifier that there is not. */
export function nearProviders(id: string): string {
  return theNearest(id, byId.keys());
}
