// Shared state in Redis.
import { fail } from '../../lib/errors.ts';
import { checkNotice } from '../shared/notices.ts';
import { sharedStateOver } from '../shared/over-scripts.ts';
import type { SharedState } from '../shared-state.ts';
import { admit } from './admit.ts';
import { readCache, removeCache, writeCache } from './cache.ts';
import { allowCircuit, readCircuit, reportCircuit } from './circuit.ts';
import { connect, ping } from './connections.ts';
import { correctBudget, readBudget, renew, sweep } from './holds.ts';
import { acknowledgeJournal, appendScript, claimJournal, readJournal } from './journal.ts';
import { acquireLease, releaseLease, renewLease } from './lease.ts';
import { redisNotices } from './notices.ts';
import { type ScriptSet, scriptRunner } from './runner.ts';
import { settleScript } from './settle.ts';
import { readValue, writeValue } from './value.ts';
import { addVector, nearVectors, removeVector } from './vectors.ts';

export interface RedisStateOptions {
  /** `redis://` or `rediss://`; a comma-separated list is a cluster. Redis 7 or newer. */
  readonly url: string;
  /** How long a call may take, in milliseconds; 1000 by default. */
  readonly deadlineMs?: number;
  /** Calls that may be under way; 10,000 by default. */
  readonly maxQueued?: number;
  /** How long settled ids and journal ids are known, in milliseconds; 15 minutes by default. */
  readonly rememberMs?: number;
  /** Milliseconds, for tests: scripts take this clock for Redis's, and no key expires by itself. */
  readonly testClock?: () => number;
}

export const REMEMBER_MS = 15 * 60_000;

/** Returns at once and connects in the background: a gateway starts while its Redis is down, and `ready` reports it. */
export function openRedisState(options: RedisStateOptions): SharedState {
  const { url, deadlineMs = 1000, maxQueued = 10_000, rememberMs = REMEMBER_MS, testClock } = options;
  const client = connect(url, 'sluice', deadlineMs);
  const receiver = connect(url, 'sluice-notices', deadlineMs);
  const notices = redisNotices(client, receiver);
  const { run, within } = scriptRunner(client, scriptSet(rememberMs), {
    deadlineMs,
    maxQueued,
    ...(testClock ? { testClock } : {}),
  });
  let closed = false;

  return sharedStateOver(
    (...call) =>
      closed ? Promise.reject(fail('store_unavailable', 'the shared store is closed')) : run(...call),
    {
      publish: async (notice, call) => {
        checkNotice(notice);
        await within(() => notices.publish(notice), call?.deadlineMs);
      },
      subscribe: notices.subscribe,
      ready: async () => {
        await within(() => ping(client));
      },
      close: async () => {
        closed = true;
        client.disconnect();
        receiver.disconnect();
      },
    },
  );
}

function scriptSet(rememberMs: number): ScriptSet {
  return {
    admit,
    settle: settleScript(rememberMs),
    renew,
    sweep,
    readBudget,
    correctBudget,
    appendJournal: appendScript(rememberMs),
    claimJournal,
    acknowledgeJournal,
    readJournal,
    acquireLease,
    renewLease,
    releaseLease,
    readValue,
    writeValue,
    allowCircuit,
    reportCircuit,
    readCircuit,
    readCache,
    writeCache,
    removeCache,
    addVector,
    nearVectors,
    removeVector,
  };
}
