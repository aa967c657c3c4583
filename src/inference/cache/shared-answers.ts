// Answers in the store that instances share. A slow or missing store costs one call a bounded
// time; then it is not asked for a while.
import { fail, GatewayError } from '../../lib/errors.ts';
import type { SharedState } from '../../store/shared-state.ts';
import { type AnswerStore, TURN_MS } from './answers.ts';

/**
 * What a read or a turn may take of a call's time, in milliseconds. A call makes five of them at the most (a stream's
 * miss), and none after one that took longer.
 */
export const READ_MS = 100;
/** Longest time for a write after a call. */
const WRITE_MS = 1000;
/** How long a store that failed is left alone. */
export const PAUSE_MS = 1000;
/** Bytes of writes under way; what comes above it is not kept. */
const MAX_WRITING = 64 * 1024 * 1024;

export interface SharedAnswerOptions {
  readonly state: SharedState;
  /** Most bytes of an organisation's answers and keys. */
  readonly maxBytes: number;
  /** READ_MS by default. */
  readonly readMs?: number;
}

/** Opens the shared store. */
export function createSharedAnswers({ state, maxBytes, readMs = READ_MS }: SharedAnswerOptions): AnswerStore {
  const guard = createGuard();
  let writing = 0;
  const keyOf = (key: string): string => `answer:${key}`;
  const turnOf = (key: string): string => `answering:${key}`;

  return {
    read: (org, key, maxAgeMs) =>
      guard(() => state.readCache(org, { key: keyOf(key), maxAgeMs }, { deadlineMs: readMs })),

    async write(org, key, value, ttlMs) {
      if (writing + value.byteLength > MAX_WRITING) return;
      writing += value.byteLength;
      await guard(() =>
        state.writeCache(org, { key: keyOf(key), value, ttlMs, maxBytes }, { deadlineMs: WRITE_MS }),
      ).catch(() => undefined);
      writing -= value.byteLength;
    },

    async remove(org, key) {
      await guard(() => state.removeCache(org, { key: keyOf(key) }, { deadlineMs: WRITE_MS })).catch(
        () => undefined,
      );
    },

    turns: {
      take: async (org, key, owner) => {
        const request = { key: turnOf(key), owner, leaseMs: TURN_MS };
        return (await guard(() => state.acquireLease(org, request, { deadlineMs: readMs }))).acquired;
      },
      keep: async (org, key, owner) => {
        const request = { key: turnOf(key), owner, leaseMs: TURN_MS };
        await guard(() => state.renewLease(org, request, { deadlineMs: WRITE_MS })).catch(() => undefined);
      },
      give: async (org, key, owner) => {
        const request = { key: turnOf(key), owner };
        await guard(() => state.releaseLease(org, request, { deadlineMs: WRITE_MS })).catch(() => undefined);
      },
    },
  };
}

/** Runs calls of a store until one fails, and then refuses them for PAUSE_MS. */
export function createGuard(now: () => number = performance.now.bind(performance)) {
  let closedUntil = 0;
  return async <T>(call: () => Promise<T>): Promise<T> => {
    if (now() < closedUntil) throw fail('store_unavailable', 'the shared store failed a moment ago');
    try {
      return await call();
    } catch (error) {
      if (error instanceof GatewayError && error.reason === 'store_unavailable')
        closedUntil = now() + PAUSE_MS;
      throw error;
    }
  };
}
