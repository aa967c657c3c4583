// Rotates the encryption of a store and says on stdout how far it is, one line per batch, until it ends or is
// killed. The store is a directory's or a server's, the latter as `address#database`.
import { openEncryptionKeys } from '../../src/access/encryption-keys.ts';
import { masterKey } from '../../src/access/master-key.ts';
import { rotateEncryption } from '../../src/access/rotate-encryption.ts';
import { openAt, rotationCollections, vaults } from './vaults.ts';

const [place = '', master = '', settleMs = '0'] = process.argv.slice(2);
const store = await openAt(place);
const keys = await openEncryptionKeys({
  documents: store.documents,
  master: masterKey(Buffer.from(master, 'base64')),
  now: Date.now,
});
const report = await rotateEncryption({
  keys,
  maintenance: store.maintenance,
  collections: rotationCollections,
  now: Date.now,
  settleMs: Number(settleMs),
  onProgress: ({ pass, seen }) => process.stdout.write(`${vaults.name} ${pass} ${seen}\n`),
});
process.stdout.write(`${JSON.stringify({ ...report, unreadable: report.unreadable.length })}\n`);
await store.close();
