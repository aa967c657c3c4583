// Copies the bytes of files that the gateway keeps into the target: they are encrypted, and stay so. Copying twice gives the same
// bytes. An upload that has not finished is not copied, but what a batch has written so far is.
import { type FileBody, files } from '../inference/files/collection.ts';
import type { BlobStore } from '../store/blobs.ts';
import type { Comparison } from '../store/copy/sides.ts';
import type { ScanBatch } from '../store/maintenance.ts';
import { rowDigest } from '../store/row-digest.ts';
import { type CopiedFiles, copyBlob, type ExportFiles, hashOfBlob } from './export-files.ts';

export const KEPT_FILES_NAME = 'files';

const BATCH = 100;

/** Copies all files that are whole. */
export async function copyKeptFiles(source: ExportFiles, target: BlobStore): Promise<CopiedFiles> {
  let [written, present] = [0, 0];
  const gone: { readonly id: string; readonly organisationId: string }[] = [];
  for await (const { name, bytes, organisationId } of filesOf(source)) {
    if ((await target.size(name)) === bytes) present++;
    else if ((await source.blobs.size(name)) < bytes) gone.push({ id: name, organisationId });
    else {
      await copyBlob(source.blobs, target, { name, bytes });
      written++;
    }
  }
  return { written, present, gone };
}

/** The bytes of all files on both sides. */
export async function compareKeptFiles(source: ExportFiles, target: BlobStore): Promise<Comparison> {
  const [mine, theirs] = [rowDigest(), rowDigest()];
  for await (const { name, bytes } of filesOf(source)) {
    if ((await source.blobs.size(name)) < bytes) continue;
    mine.add(`${name} ${await hashOfBlob(source.blobs, { name, bytes })}`);
    if ((await target.size(name)) === bytes)
      theirs.add(`${name} ${await hashOfBlob(target, { name, bytes })}`);
  }
  const of = ({ count, hash }: typeof mine) => ({ count, hash });
  return { name: KEPT_FILES_NAME, source: of(mine), target: of(theirs) };
}

async function* filesOf({ documents, blobs }: ExportFiles) {
  let after: string | undefined;
  do {
    const batch: ScanBatch = await documents.maintenance.scan(files, { limit: BATCH, after });
    for (const { document } of batch.documents) {
      const { id: name, organisationId } = document;
      const { stored, status, batch } = document.body as FileBody;
      if (document.status !== 'active') continue;
      // What a batch has written so far is gone on with.
      const bytes = status === 'uploading' && batch !== undefined ? await blobs.size(name) : stored;
      if (bytes > 0) yield { name, bytes, organisationId };
    }
    after = batch.next;
  } while (after !== undefined);
}
