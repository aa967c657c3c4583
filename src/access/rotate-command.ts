// The steps of `sluice keys rotate-encryption`, each of which may be the last before a crash.
import type { Collection } from '../store/collection.ts';
import type { DocumentMaintenance } from '../store/maintenance.ts';
import { replaceEncryptionKey } from './encryption-key.ts';
import type { EncryptionKeys } from './encryption-keys.ts';
import { masterKey } from './master-key.ts';
import { rotateEncryption } from './rotate-encryption.ts';

export interface RotateCommandDeps {
  readonly keys: EncryptionKeys;
  readonly maintenance: DocumentMaintenance;
  readonly collections: readonly Collection<object>[];
  /** How long other instances may still encrypt with the key before; see rotate-encryption.ts. */
  readonly settleMs: number | undefined;
  /** The folder whose file holds the master key; undefined when a setting gives it. */
  readonly keyFolder: string | undefined;
  /** The same store's keys, opened by another master key. */
  readonly reopen: (master: Uint8Array) => Promise<EncryptionKeys>;
  /** One line for people, without anything secret. */
  readonly say: (line: string) => void;
}

/** A new data key, and every secret sealed anew. Resolves with false when there are secrets that cannot be opened. */
export async function rotateDataKeys(deps: RotateCommandDeps, signal?: AbortSignal): Promise<boolean> {
  const { keys, maintenance, collections, settleMs, say } = deps;
  let told = -1;
  const { keyId, resealed, unreadable } = await rotateEncryption({
    keys,
    maintenance,
    collections,
    now: Date.now,
    ...(settleMs === undefined ? {} : { settleMs }),
    ...(signal ? { signal } : {}),
    onProgress: (progress) => {
      if (progress.resealed - told >= 1000 || told < 0) {
        told = progress.resealed;
        say(`pass ${progress.pass}: ${progress.resealed} documents encrypted anew`);
      }
    },
  });
  say(`${resealed} documents were encrypted anew. The key ${keyId} encrypts now; older keys are retired.`);
  for (const secret of unreadable) say(`cannot be read, and was left as it is: ${secret.message}`);
  return unreadable.length === 0;
}

/** Lets another master key open the store. @param given 32 bytes */
export async function addMasterKey(deps: RotateCommandDeps, given: Uint8Array): Promise<void> {
  const { keys, keyFolder, say } = deps;
  const master = masterKey(given);
  await keys.addMaster(master);
  say(`The store opens with the new key ${master.id}, too.`);
  if (keyFolder === undefined) {
    say(
      'Set GATEWAY_ENCRYPTION_KEY to the new key on every instance and restart them one by one; then run\n' +
        '"keys rotate-encryption --drop-old-masters" with the new key.',
    );
    return;
  }
  replaceEncryptionKey(keyFolder, given);
  await (await deps.reopen(given)).dropOtherMasters();
  say(`The key in ${keyFolder} was replaced; the old one opens nothing any more.`);
}

/** Only the own master key opens the store from now on. */
export async function dropOldMasterKeys({ keys, say }: RotateCommandDeps): Promise<void> {
  const dropped = await keys.dropOtherMasters();
  say(
    dropped.length === 0
      ? 'No other master key opened the store.'
      : `The store does not open with ${dropped.join(', ')} any more.`,
  );
}
