// The disks of the data folder: they take writes, and have room.
import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { diskProbe } from '../../lib/disk-probe.ts';
import type { Check, Finding } from './check.ts';

/** Less room than this is told while writes still succeed. */
const LOW_BYTES = 64 * 1024 * 1024;
const LOW_SHARE = 0.02;

export const disk: Check = {
  name: 'disk',
  run: async ({ settings: { dataDir } }) => {
    const folders = [dataDir, join(dataDir, 'logs')].filter((folder) => existsSync(folder));
    if (folders.length === 0) return undefined;
    const free = folders.map((folder) => ({ folder, ...room(folder) }));
    const findings: Finding[] = free
      .filter(({ bytes, share }) => bytes < LOW_BYTES && share < LOW_SHARE)
      .map(({ folder, bytes }) => ({
        why: `${folder}: ${megabytes(bytes)} are free`,
        todo: 'Make room, or lower GATEWAY_LOG_RETENTION_DAYS and GATEWAY_BODY_RETENTION_DAYS.',
      }));
    const refused = await diskProbe({ folders })();
    if (refused !== undefined) findings.push({ why: refused, todo: todoOf(refused) });
    return {
      looked: free.map(({ folder, bytes }) => `${folder}: ${megabytes(bytes)} free`).join(', '),
      findings,
    };
  },
};

function todoOf(refused: string): string {
  return /\((?:EACCES|EPERM)\)/.test(refused)
    ? 'Run the command as the owner of the folder.'
    : 'Make room on it, or mend it.';
}

function room(folder: string): { readonly bytes: number; readonly share: number } {
  const { bavail, bsize, blocks } = statfsSync(folder);
  return { bytes: bavail * bsize, share: blocks === 0 ? 0 : bavail / blocks };
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1024 / 1024)} MiB`;
}
