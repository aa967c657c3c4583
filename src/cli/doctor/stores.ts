// The stores that the settings name: each answers, and the embedded ones are whole.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { COLLECTIONS } from '../../app/stores.ts';
import { quickCheck } from '../../store/data-folder/quick-check.ts';
import type { Check, Finding } from './check.ts';

const WITHIN_MS = 5000;

export const stores: Check = {
  name: 'stores',
  run: async ({ settings, running }) => {
    const { mongodbUri, redisUrl, dataDir } = settings;
    const looked: string[] = [];
    const findings: Finding[] = [];
    if (mongodbUri === undefined)
      for (const file of running ? ['sluice.db'] : ['sluice.db', 'state.db']) {
        if (!existsSync(join(dataDir, file))) continue;
        looked.push(file);
        findings.push(...fileFindings(join(dataDir, file)));
      }
    else {
      looked.push('MongoDB');
      findings.push(...(await answers('MONGODB_URI', () => mongoAnswers(mongodbUri))));
    }
    if (redisUrl !== undefined) {
      looked.push('Redis');
      findings.push(...(await answers('REDIS_URL', () => redisAnswers(redisUrl))));
    }
    return { looked: looked.join(', '), findings };
  },
};

function fileFindings(path: string): Finding[] {
  return quickCheck(path).map((text) => ({
    why: `${path}: ${text}`,
    todo: 'Restore the data folder from a backup.',
  }));
}

/** @param setting its value may hold a password and is not repeated */
async function answers(setting: string, ask: () => Promise<void>): Promise<Finding[]> {
  const late = AbortSignal.timeout(WITHIN_MS);
  const given = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(new Error(`no answer within ${WITHIN_MS / 1000} s`)));
  });
  try {
    await Promise.race([ask(), given]);
    return [];
  } catch (error) {
    return [{ why: `${setting}: ${textOf(error)}`, todo: 'Start the server, or correct the setting.' }];
  }
}

async function mongoAnswers(uri: string): Promise<void> {
  const { openMongoStore } = await import('../../store/mongo/open-mongo.ts');
  const store = await openMongoStore({ uri, collections: COLLECTIONS });
  try {
    await store.ready();
  } finally {
    await store.close();
  }
}

async function redisAnswers(url: string): Promise<void> {
  const { openRedisState } = await import('../../store/redis/open-redis.ts');
  const state = openRedisState({ url });
  try {
    for (let tries = 0; ; tries++) {
      try {
        return await state.ready();
      } catch (error) {
        if (tries === 10) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  } finally {
    await state.close();
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
