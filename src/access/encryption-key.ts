// The key that protects what is kept: given by a setting, or made at first start.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'encryption.key';

/**
 * The 32 bytes of the data folder's key, made (mode 0600) when there is none yet.
 * @throws Error naming the file when it cannot be read as a key.
 */
export function encryptionKeyOf(dataDir: string): Uint8Array {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, FILE);
  try {
    writeFileSync(path, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  }
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64');
  if (key.length !== 32) throw new Error(`${path}: must hold 32 bytes in base64`);
  return key;
}
