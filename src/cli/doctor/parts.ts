// The parts of an embedded data folder: each is there and of this store.
import { accessSync, constants, existsSync } from 'node:fs';
import { partsOf } from '../../app/stores.ts';
import { findTroubles, PartsError } from '../../store/data-folder/guard.ts';
import type { Check } from './check.ts';

export const parts: Check = {
  name: 'data folder',
  run: async ({ settings, running }) => {
    if (settings.mongodbUri !== undefined) return undefined;
    if (!existsSync(settings.dataDir))
      return { looked: `${settings.dataDir} is not there yet: the first start makes it`, findings: [] };
    const refused = refusalOf(settings.dataDir);
    if (refused !== undefined) return { looked: settings.dataDir, findings: [refused] };
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

/** That another user has the folder: nothing in it can be looked at. */
function refusalOf(dataDir: string): { why: string; todo: string } | undefined {
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      why: `this user may not read and write the folder (${code})`,
      todo: 'Run the command as the owner of the folder.',
    };
  }
}
