// The key that protects stored secrets: given by a setting, or made at first start.
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
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
    writeFileSync(path, textOf(randomBytes(32)), { mode: 0o600, flag: 'wx', flush: true });
    syncFolder(dataDir);
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  }
  return encryptionKeyFrom(path);
}

/** The 32 bytes in base64 that a file holds. @throws Error naming the file, and nothing of what is in it. */
export function encryptionKeyFrom(path: string): Uint8Array {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new Error(`${path}: cannot be read`, { cause });
  }
  const key = Buffer.from(text, 'base64');
  if (key.length !== 32 || !/^[A-Za-z0-9+/_-]+=*$/.test(text)) {
    throw new Error(`${path}: must hold 32 bytes in base64`);
  }
  return key;
}

/** Puts another key in the data folder, all of it or nothing; it is durable when this returns. */
export function replaceEncryptionKey(dataDir: string, key: Uint8Array): void {
  const path = join(dataDir, FILE);
  writeFileSync(`${path}.new`, textOf(key), { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
  syncFolder(dataDir);
}

function textOf(key: Uint8Array): string {
  return `${Buffer.from(key).toString('base64')}\n`;
}

/** From here on the store treats the key as durable: a power cut must not restore the folder's older state. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
