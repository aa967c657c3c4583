// Blobs in a folder, in MongoDB's GridFS and in an S3-compatible store: one contract. S3_TEST_URL names a real server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import mongoose from 'mongoose';
import OpenAI, { toFile } from 'openai';
import { readS3Place } from '../../src/lib/s3-place.ts';
import { folderBlobs } from '../../src/store/folder-blobs.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { s3Blobs } from '../../src/store/s3/s3-blobs.ts';
import { type FakeS3, startFakeS3 } from '../support/fake-s3.ts';
import { startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { mongoServer, reportMissing } from '../support/servers.ts';
import { blobContract } from './blobs.contract.ts';
import { dropDatabase, freshDatabase, withDatabase } from './mongo-database.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-blobs-'));
const CREDENTIALS = { accessKeyId: 'AKIDTEST', secretAccessKey: 'secret+/with=signs' };
let s3: FakeS3;
const addressOf = (prefix: string): string => {
  const url = new URL(`${s3.origin}/bucket/${prefix}?region=us-east-1`);
  url.username = encodeURIComponent(CREDENTIALS.accessKeyId);
  url.password = encodeURIComponent(CREDENTIALS.secretAccessKey);
  return url.href;
};
const closing: (() => Promise<unknown>)[] = [];
test.before(async () => {
  s3 = await startFakeS3(CREDENTIALS);
});
test.after.always(async () => {
  for (const close of closing) await close();
  await s3?.close();
  rmSync(root, { recursive: true, force: true });
});

blobContract(test, 'folder', async () => folderBlobs(join(root, 'folder')));
const opened = (address: () => string) => async () => {
  const blobs = s3Blobs(readS3Place(address()));
  closing.push(() => blobs.close());
  return blobs;
};
blobContract(
  test,
  'S3',
  opened(() => addressOf('a/b')),
);
const real = process.env.S3_TEST_URL;
if (real !== undefined)
  blobContract(
    test,
    'a real S3',
    opened(() => real),
  );

const mongo = await mongoServer();
if (mongo === undefined) reportMissing(test, 'MongoDB');
else {
  const database = freshDatabase();
  const opening = openMongoStore({ uri: mongo.uri, database, collections: [] });
  closing.push(
    async () => (await opening).close(),
    () => dropDatabase(mongo, database),
  );
  blobContract(test, 'GridFS', async () => (await opening).blobs);

  test.serial('what is in GridFS is read by its own driver, and blobs of before go on', async (t) => {
    const { blobs } = await opening;
    await blobs.write('driver', 0, Buffer.alloc(700_000, 7));
    await withDatabase(mongo.uri, database, async (db) => {
      const bucket = new mongoose.mongo.GridFSBucket(db, { bucketName: 'files' });
      const pieces: Uint8Array[] = [];
      for await (const piece of bucket.openDownloadStreamByName('driver')) pieces.push(piece as Uint8Array);
      t.true(Buffer.concat(pieces).equals(Buffer.alloc(700_000, 7)));
      const old = { _id: `old:${'0'.repeat(15)}`, bytes: new mongoose.mongo.Binary(Buffer.from('abc')) };
      await db.collection<{ _id: string }>('blobs').insertOne(old);
    });
    await blobs.write('old', 3, Buffer.from('def'));
    t.is(await blobs.size('old'), 6);
    const pieces: Uint8Array[] = [];
    for await (const piece of blobs.read('old', 6)) pieces.push(piece);
    t.is(String(Buffer.concat(pieces)), 'abcdef');
    await blobs.remove('old');
    t.is(await blobs.size('old'), 0);
  });
}

test.serial(
  'a store that stumbles is asked again; one that refuses is told as such, without its credentials',
  async (t) => {
    const blobs = s3Blobs(readS3Place(addressOf('stumbles')));
    s3.faults.push(503, 500);
    await blobs.write('a', 0, Buffer.from('abc'));
    t.is(await blobs.size('a'), 3);
    await blobs.close();
    const wrong = s3Blobs({
      ...readS3Place(addressOf('stumbles')),
      credentials: { ...CREDENTIALS, secretAccessKey: 'other-secret' },
    });
    const error = await t.throwsAsync(wrong.size('a'));
    t.is((error as { reason?: string } | undefined)?.reason, 'store_unavailable');
    t.false(/secret/.test(`${error?.message} ${(error?.cause as Error | undefined)?.message}`));
    await wrong.close();
  },
);

test.serial(
  'files of a gateway are kept in the object store, sealed, and nothing of them in its folder',
  async (t) => {
    const gateway = await startGateway({ GATEWAY_FILES_S3: addressOf('gateway') });
    t.teardown(() => gateway.close());
    const openai = new OpenAI({ apiKey: WORKSPACE_KEY, baseURL: `${gateway.origin}/v1`, maxRetries: 0 });
    const bytes = Buffer.alloc(1_300_000, 'plain text of a caller ');
    const { id } = await openai.files.create({ file: await toFile(bytes, 'a.txt'), purpose: 'user_data' });
    const content = Buffer.from(await (await openai.files.content(id)).arrayBuffer());
    t.true(content.equals(bytes));
    const stored = [...s3.objects].filter(([key]) => key.startsWith('/bucket/gateway/'));
    t.true(stored.length > 1);
    t.false(stored.some(([, object]) => object.includes('plain text')));
    await openai.files.delete(id);
    t.false([...s3.objects.keys()].some((key) => key.startsWith('/bucket/gateway/')));
  },
);
