// The parts of an embedded data folder: each is there and of this store.
import { partsOf } from '../../app/stores.ts';
import { findTroubles, PartsError } from '../../store/data-folder/guard.ts';
import type { Check } from './check.ts';

export const parts: Check = {
  name: 'data folder',
  run: async ({ settings, running }) => {
    if (settings.mongodbUri !== undefined) return undefined;
    // A running gateway holds state.db exclusively, and has checked it.
    const looked = partsOf(settings).filter((part) => !running || part !== 'state.db');
    return {
      looked: `${settings.dataDir}: sluice.db, ${looked.join(', ')}`,
      findings: troubles(settings.dataDir, looked),
    };
  },
};

function troubles(dataDir: string, looked: ReturnType<typeof partsOf>): { why: string; todo: string }[] {
  const described = ({ part, why, todo }: PartsError['troubles'][number]) => ({
    why: `${part}: ${why}`,
    todo,
  });
  try {
    return findTroubles(dataDir, looked).map(described);
  } catch (error) {
    if (error instanceof PartsError) return error.troubles.map(described);
    throw error;
  }
}
