// `sluice keys rotate-encryption`: new keys for what is stored encrypted.
import { parseArgs } from 'node:util';
import { encryptionKeyFrom } from '../access/encryption-key.ts';
import { addMasterKey, dropOldMasterKeys, rotateDataKeys } from '../access/rotate-command.ts';
import { openStores } from '../app/stores.ts';
import { callControl, controlPath } from '../lib/control-socket.ts';
import { SettingsError } from '../settings.ts';
import { storeSettings } from './client.ts';
import type { Terminal } from './output.ts';

/** Exit code: done, but for secrets that cannot be opened. */
const UNREADABLE = 2;

/** @returns the exit code */
export async function rotateEncryptionCommand(
  args: readonly string[],
  { env, tell: say }: Terminal,
): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'new-master': { type: 'string' },
      'drop-old-masters': { type: 'boolean', default: false },
      'data-dir': { type: 'string' },
    },
  });
  const { 'new-master': source, 'drop-old-masters': drop } = values;
  if (source !== undefined && drop)
    throw new Error('--drop-old-masters comes after the restart with the new key');
  const settings = storeSettings({ dataDir: values['data-dir'] }, env);
  const given = source === 'env' ? settings.newEncryptionKey : source && encryptionKeyFrom(source);
  if (source !== undefined && !given) throw new SettingsError('GATEWAY_NEW_ENCRYPTION_KEY: is not set');
  if (settings.mongodbUri === undefined && !given && !drop) {
    // A gateway that runs on an embedded store does it itself.
    const done = await callControl(controlPath(settings.dataDir), 'rotate-encryption', say);
    if (done !== undefined) return done ? 0 : UNREADABLE;
  }
  const { rotation, close } = await openStores(settings);
  const facts = { ...rotation, say };
  try {
    if (given) {
      await addMasterKey(facts, given);
      return 0;
    }
    if (drop) await dropOldMasterKeys(facts);
    return (await rotateDataKeys(facts)) ? 0 : UNREADABLE;
  } finally {
    await close();
  }
}
