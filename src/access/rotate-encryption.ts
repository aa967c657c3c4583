// A new data key, and every secret sealed with it, while services go on reading and writing.
//
// Nothing here needs to be undone: when it breaks off, the next run goes on from what is stored, and two at once
// do the same work. From the moment the new key is stored it opens everywhere (an instance that meets it reads the
// keys anew), and within `settleMs` no instance seals with an older one: a pass over all documents that begins
// after that and finds nothing to do is the proof that the old keys may retire. A retired key seals nothing and
// still opens; it goes for good with a later rotation that finds no value of it.
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../lib/errors.ts';
import type { Collection } from '../store/collection.ts';
import type { DocumentMaintenance, Rewrite } from '../store/maintenance.ts';
import { resealed } from '../store/reseal.ts';
import type { UnreadableSecret } from '../store/sealed-body.ts';
import type { EncryptionKeys } from './encryption-keys.ts';

export interface RotationDeps {
  readonly keys: EncryptionKeys;
  readonly maintenance: DocumentMaintenance;
  /** Those without secrets are left out. */
  readonly collections: readonly Collection<object>[];
  /** Unix milliseconds. */
  readonly now: () => number;
  /** How long an instance may still seal with the key before, in milliseconds; 10,000 by default. */
  readonly settleMs?: number;
  /** Told after every batch. */
  readonly onProgress?: (progress: RotationProgress) => void;
  /** A rotation that is aborted can be begun again. */
  readonly signal?: AbortSignal;
}

export interface RotationProgress {
  readonly collection: string;
  /** From 1. */
  readonly pass: number;
  /** Documents seen in this pass, and sealed anew in all passes. */
  readonly seen: number;
  readonly resealed: number;
}

export interface RotationReport {
  /** Which key seals now. */
  readonly keyId: string;
  /** Documents sealed anew, by this run. */
  readonly resealed: number;
  /** Secrets that cannot be opened, and stay as they are. */
  readonly unreadable: readonly UnreadableSecret[];
}

/** The view of the keys (2 s) and a write's deadline (5 s), with room for a slow clock. */
const SETTLE_MS = 10_000;
const BATCH = 100;
/** A pass is repeated when all its documents were changed meanwhile; this many repetitions mean a faulty store. */
const PASSES = 100;
const KEEP_RETIRED_MS = 24 * 60 * 60_000;

interface Pass {
  readonly written: number;
  /** Documents that were changed meanwhile: they are read again. */
  readonly missed: number;
  readonly unreadable: readonly UnreadableSecret[];
}

/** @throws GatewayError store_unavailable when the store fails; what was done stays done. */
export async function rotateEncryption(deps: RotationDeps): Promise<RotationReport> {
  const { keys, now, settleMs = SETTLE_MS } = deps;
  const secretive = deps.collections.filter(({ secret }) => secret.length > 0);
  const settledAt = performance.now() + settleMs;
  await keys.advance();
  let written = 0;
  for (let pass = 1; pass <= PASSES; pass++) {
    // A concurrent rotation may have moved on to another key.
    const { current } = await keys.inUse();
    const begunAt = performance.now();
    const done = await onePass({ ...deps, collections: secretive }, current, pass, written);
    written += done.written;
    if (done.written + done.missed > 0) continue;
    if (begunAt < settledAt) {
      await sleep(Math.max(0, settledAt - performance.now()), undefined, signalOf(deps));
      continue;
    }
    const used = new Set(done.unreadable.flatMap(({ keyId }) => keyId ?? []));
    if (await keys.retire(current, used, now() - KEEP_RETIRED_MS)) {
      return { keyId: current, resealed: written, unreadable: done.unreadable };
    }
  }
  throw fail('store_unavailable', `documents were still changed under the rotation after ${PASSES} passes`);
}

async function onePass(
  deps: RotationDeps,
  target: string,
  pass: number,
  writtenBefore: number,
): Promise<Pass> {
  const { keys, maintenance, collections, onProgress, signal } = deps;
  const key = await keys.find(target);
  if (key === undefined) throw fail('store_unavailable', `the store has no encryption key ${target}`);
  let [written, missed] = [0, 0];
  const unreadable: UnreadableSecret[] = [];
  for (const collection of collections) {
    let after: string | undefined;
    let seen = 0;
    do {
      signal?.throwIfAborted();
      const batch = await maintenance.scan(collection, { after, limit: BATCH });
      const rewrites: Rewrite[] = [];
      for (const stored of batch.documents) {
        const made = await resealed(keys, key, collection, stored);
        unreadable.push(...made.unreadable);
        if (made.body !== undefined) rewrites.push({ stored, body: made.body });
        await setImmediate();
      }
      const outcomes = rewrites.length === 0 ? [] : await maintenance.rewrite(collection, rewrites);
      const done = outcomes.filter((outcome) => outcome === 'written').length;
      written += done;
      missed += outcomes.length - done;
      seen += batch.documents.length;
      onProgress?.({ collection: collection.name, pass, seen, resealed: writtenBefore + written });
      after = batch.next;
    } while (after !== undefined);
  }
  return { written, missed, unreadable };
}

function signalOf({ signal }: RotationDeps): { signal: AbortSignal } | undefined {
  return signal && { signal };
}
