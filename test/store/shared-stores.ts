// The stores that the tests of shared state run on: the embedded one in a folder of its own, Redis where there is
// one; both on one clock that the tests move.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { openRedisState } from '../../src/store/redis/open-redis.ts';
import type { SharedState } from '../../src/store/shared-state.ts';

/** Organisations of one test file; those of others on the same Redis are not touched. */
export const RUN = `t-${process.pid}-${Date.now().toString(36)}`;
let organisations = 0;

export function freshOrg(): string {
  return `${RUN}-${organisations++}`;
}

/** Milliseconds that tests set. */
export interface TestClock {
  ms: number;
}

export const START_MS = 1_790_000_000_000;
const FOREVER_MS = 1e12;

export async function openEmbedded(clock?: TestClock): Promise<SharedState> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-state-'));
  const state = await openMemoryState({
    dataDir,
    ...(clock ? { clock: () => clock.ms, rememberMs: FOREVER_MS } : {}),
  });
  return {
    ...state,
    close: async () => {
      await state.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export async function openRedis(url: string, clock?: TestClock): Promise<SharedState> {
  const state = openRedisState({ url, deadlineMs: 5000, ...(clock ? { testClock: () => clock.ms } : {}) });
  await untilReady(state);
  return state;
}

/** Waits until the store answers, for `withinMs` at the most. */
export async function untilReady(state: SharedState, withinMs = 10_000): Promise<void> {
  const end = Date.now() + withinMs;
  for (;;) {
    try {
      await state.ready();
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Removes this file's keys: under a test's clock they would stay for ever. */
export async function clearRedis(url: string): Promise<void> {
  const redis = new Redis(url);
  for await (const keys of redis.scanStream({ match: `sluice:{${RUN}*`, count: 1000 })) {
    if ((keys as string[]).length > 0) await redis.unlink(keys as string[]);
  }
  redis.disconnect();
}
