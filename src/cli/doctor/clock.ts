// The machine's clock: budgets, expiries and retention go by it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inspectLog } from '../../store/sqlite/log/inspect.ts';
import type { Check, Finding } from './check.ts';

/** No call of this program was made before. */
const EARLIEST = Date.UTC(2025, 0, 1);
/** Clocks of machines that send entries may differ by so much, in milliseconds. */
const TOLERANCE_MS = 120_000;

export const clock: Check = {
  name: 'clock',
  run: async ({ settings: { mongodbUri, dataDir } }) => {
    const now = Date.now();
    const findings: Finding[] = [];
    const todo = 'Set the clock, and keep it right with NTP.';
    if (now < EARLIEST) findings.push({ why: 'it is before 2025', todo });
    const newest =
      mongodbUri === undefined && existsSync(join(dataDir, 'sluice.db'))
        ? inspectLog(dataDir).newest
        : undefined;
    if (newest !== undefined && newest > now + TOLERANCE_MS) {
      const why = `calls were logged up to ${new Date(newest).toISOString()}, which is to come: it went back, or was wrong`;
      findings.push({ why, todo });
    }
    return { looked: new Date(now).toISOString(), findings };
  },
};
