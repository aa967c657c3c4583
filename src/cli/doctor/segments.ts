// The files of the request log: each segment is as it was written.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inspectLog } from '../../store/sqlite/log/inspect.ts';
import type { Check } from './check.ts';

export const segments: Check = {
  name: 'request log',
  run: async ({ settings: { mongodbUri, dataDir } }) => {
    if (mongodbUri !== undefined || !existsSync(join(dataDir, 'sluice.db'))) return undefined;
    const found = inspectLog(dataDir);
    const unchecked =
      found.unchecked === 0 ? '' : ` (${found.unchecked} of an earlier version, without checksums)`;
    return {
      looked: `${found.segments} segments${unchecked}, ${found.bodyFiles} files of bodies`,
      findings: found.damages.map(({ file, offset, why }) => ({
        why: `logs/${file}${offset === undefined ? '' : `, segment at ${offset}`}: ${why}`,
        todo: 'Restore the file from a backup; the rest of the log is served meanwhile.',
      })),
    };
  },
};
