// The store's encryption keys in memory: read at start, again before sealing when they may have changed, and when
// a sealed value names a key that is not known yet. So no instance meets a value that it cannot open.
import { randomBytes } from 'node:crypto';
import { fail } from '../lib/errors.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { DataKeys } from '../store/sealed-body.ts';
import { type KeptBundle, readBundle } from './kept-bundle.ts';
import { newDataKey, sealBundle, wrapFor } from './key-bundle.ts';
import type { MasterKey } from './master-key.ts';

export interface EncryptionKeysOptions {
  readonly documents: DocumentStore;
  readonly master: MasterKey;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** How old the view of which key seals may be, in milliseconds; 2000 by default. */
  readonly freshMs?: number;
}

/** What an operator may know of the keys. */
export interface KeysInUse {
  readonly current: string;
  /** Keys that sealed once and whose values are not all sealed anew yet. */
  readonly leaving: readonly string[];
  readonly retired: readonly string[];
  /** Master keys that open the store. */
  readonly masters: readonly string[];
}

export interface EncryptionKeys extends DataKeys {
  /** 32 bytes: what API keys are hashed with. */
  readonly hashSecret: Uint8Array;
  /** As the store has them now. */
  inUse(): Promise<KeysInUse>;
  /** From now on a new key seals, unless values of the key before are still to be sealed anew. Answers which seals. */
  advance(): Promise<string>;
  /**
   * All keys but `current` seal no more. Those that are retired since before `dropBefore` (Unix milliseconds) and
   * not among `used` go for good. False when another key seals by now: then nothing was changed.
   */
  retire(current: string, used: ReadonlySet<string>, dropBefore: number): Promise<boolean>;
  /** Another master key opens the store too. */
  addMaster(master: MasterKey): Promise<void>;
  /** Only the own master key opens the store; answers those that no longer do. */
  dropOtherMasters(): Promise<readonly string[]>;
}

const FRESH_MS = 2000;
/** How long a key that the store did not have is not asked for again, in milliseconds. */
const ABSENT_MS = 1000;
const ABSENT_KEPT = 1000;

/**
 * Reads the store's keys, or makes its first.
 * @throws GatewayError store_unavailable naming GATEWAY_ENCRYPTION_KEY when it does not open them.
 */
export async function openEncryptionKeys(options: EncryptionKeysOptions): Promise<EncryptionKeys> {
  const { documents, master, now, freshMs = FRESH_MS } = options;
  const kept = await readBundle(documents, master, now);
  return {
    get hashSecret() {
      return Buffer.from(kept.bundle.hashSecret, 'base64');
    },

    current: async () => {
      await kept.readSince(performance.now() - freshMs);
      const key = kept.key(kept.bundle.current);
      if (key === undefined) throw fail('store_unavailable', "the store's encryption keys are damaged");
      return key;
    },

    find: finder(kept),
    inUse: () => inUse(kept),
    ...dataKeyChanges(kept, now),
    ...masterKeyChanges(kept, master),
  };
}

function finder(kept: KeptBundle): EncryptionKeys['find'] {
  const absent = new Map<string, number>();
  return async (id) => {
    const found = kept.key(id);
    if (found !== undefined) return found;
    const asked = performance.now();
    if (asked - (absent.get(id) ?? Number.NEGATIVE_INFINITY) < ABSENT_MS) return undefined;
    await kept.readSince(asked);
    const read = kept.key(id);
    if (read !== undefined) return read;
    if (absent.size >= ABSENT_KEPT) absent.clear();
    absent.set(id, asked);
    return undefined;
  };
}

async function inUse(kept: KeptBundle): Promise<KeysInUse> {
  const masters = Object.keys(await kept.masters());
  const { current, keys } = kept.bundle;
  const idsOf = (retired: boolean): string[] =>
    keys
      .filter(({ id, retiredAt }) => id !== current && (retiredAt !== undefined) === retired)
      .map(({ id }) => id);
  return { current, leaving: idsOf(false), retired: idsOf(true), masters };
}

function dataKeyChanges(kept: KeptBundle, now: () => number): Pick<EncryptionKeys, 'advance' | 'retire'> {
  return {
    advance: async () => {
      await kept.change((opened, masters) => {
        const { keys, current } = opened.bundle;
        if (keys.some(({ id, retiredAt }) => id !== current && retiredAt === undefined)) return undefined;
        const made = newDataKey(now());
        const next = { ...opened.bundle, current: made.id, keys: [...keys, made] };
        return sealBundle({ ...opened, bundle: next }, masters);
      });
      return kept.bundle.current;
    },

    retire: async (current, used, dropBefore) => {
      let done = true;
      await kept.change((opened, masters) => {
        done = opened.bundle.current === current;
        if (!done) return undefined;
        const staying = opened.bundle.keys.filter(
          ({ id, retiredAt }) =>
            id === current || used.has(id) || retiredAt === undefined || retiredAt >= dropBefore,
        );
        const keys = staying.map((key) => (key.id === current ? key : { retiredAt: now(), ...key }));
        return sealBundle({ ...opened, bundle: { ...opened.bundle, keys } }, masters);
      });
      return done;
    },
  };
}

function masterKeyChanges(
  kept: KeptBundle,
  master: MasterKey,
): Pick<EncryptionKeys, 'addMaster' | 'dropOtherMasters'> {
  return {
    addMaster: (another) =>
      kept.change((opened, masters) =>
        Object.hasOwn(masters, another.id)
          ? undefined
          : sealBundle(opened, { ...masters, ...wrapFor(another, opened.key) }),
      ),

    dropOtherMasters: async () => {
      let dropped: string[] = [];
      await kept.change(({ bundle }, masters) => {
        dropped = Object.keys(masters).filter((id) => id !== master.id);
        if (dropped.length === 0) return undefined;
        // A new bundle key: the old one is known to who has the old master key.
        const key = randomBytes(32);
        return sealBundle({ bundle, key }, wrapFor(master, key));
      });
      return dropped;
    },
  };
}
