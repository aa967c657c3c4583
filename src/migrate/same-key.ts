// Whether the key of the target opens what is in the source.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { encryptionKeyFrom } from '../access/encryption-key.ts';
import { BUNDLE_ID, encryptionKeys, openBundle, STORE_ORGANISATION } from '../access/key-bundle.ts';
import { masterKey } from '../access/master-key.ts';
import { SettingsError } from '../settings.ts';
import type { SqliteStore } from '../store/sqlite/open-sqlite.ts';

/**
 * API keys and secrets can be used only with the key that they were hashed and sealed under.
 * @throws SettingsError saying which key to set
 */
export async function refuseOtherKey(source: SqliteStore, dataDir: string, key: Uint8Array): Promise<void> {
  const file = join(dataDir, 'encryption.key');
  const advice = existsSync(file)
    ? `set GATEWAY_ENCRYPTION_KEY to what is in ${file}`
    : 'set GATEWAY_ENCRYPTION_KEY to the key that the embedded gateway was started with';
  const scope = { organisationId: STORE_ORGANISATION, workspaceId: undefined };
  const bundle = await source.documents.get(scope, encryptionKeys, BUNDLE_ID);
  const refusal = `the keys and secrets in ${dataDir} cannot be used with this GATEWAY_ENCRYPTION_KEY: ${advice}`;
  if (bundle !== undefined) {
    try {
      openBundle(masterKey(key), bundle.body);
    } catch (cause) {
      throw new SettingsError(refusal, { cause });
    }
  } else if (!existsSync(file)) {
    throw new Error(
      `${dataDir}: start the gateway on it once more, so that its encryption key can be checked`,
    );
  } else if (!Buffer.from(encryptionKeyFrom(file)).equals(key)) {
    throw new SettingsError(refusal);
  }
}
