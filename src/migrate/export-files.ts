// Copies the files of finished log exports from a folder into the target. Copying twice gives the same files, so an
// interrupted copy is simply repeated. Partial files of unfinished exports are not copied: their page cursor belongs to
// the source, and without their bytes these exports start again.
import { createHash } from 'node:crypto';
import { type ExportPart, type LogExportBody, logExports } from '../ledger/exports/collection.ts';
import { isThere } from '../ledger/exports/file.ts';
import type { BlobStore } from '../store/blobs.ts';
import type { Comparison, CopySide } from '../store/copy/sides.ts';
import type { ScanBatch } from '../store/maintenance.ts';
import { rowDigest } from '../store/row-digest.ts';

/** Where exports are, and their bytes. */
export interface ExportFiles {
  readonly documents: Pick<CopySide, 'maintenance'>;
  readonly blobs: BlobStore;
}

/** What the copy came to. */
export interface CopiedFiles {
  readonly written: number;
  readonly present: number;
  /** Exports whose bytes the source itself no longer has. */
  readonly gone: readonly { readonly id: string; readonly organisationId: string }[];
}

export const FILES_NAME = 'export files';

const BATCH = 100;
/** Bytes of one write. */
const PIECE = 1024 * 1024;

/** Copies the bytes of all exports that are done. */
export async function copyExportFiles(source: ExportFiles, target: BlobStore): Promise<CopiedFiles> {
  let [written, present] = [0, 0];
  const gone: { readonly id: string; readonly organisationId: string }[] = [];
  for await (const { id, organisationId, whole, parts } of filesOf(source)) {
    if (!whole) gone.push({ id, organisationId });
    else
      for (const part of parts)
        if ((await target.size(part.name)) === part.bytes) present++;
        else {
          await copyBlob(source.blobs, target, part);
          written++;
        }
  }
  return { written, present, gone };
}

/** The bytes of all exports that are done on both sides. */
export async function compareExportFiles(source: ExportFiles, target: BlobStore): Promise<Comparison> {
  const [mine, theirs] = [rowDigest(), rowDigest()];
  for await (const { whole, parts } of filesOf(source)) {
    if (!whole) continue;
    for (const part of parts) {
      mine.add(`${part.name} ${await hashOfBlob(source.blobs, part)}`);
      if ((await target.size(part.name)) === part.bytes)
        theirs.add(`${part.name} ${await hashOfBlob(target, part)}`);
    }
  }
  const of = ({ count, hash }: typeof mine) => ({ count, hash });
  return { name: FILES_NAME, source: of(mine), target: of(theirs) };
}

interface Kept {
  readonly id: string;
  readonly organisationId: string;
  readonly whole: boolean;
  readonly parts: readonly ExportPart[];
}

async function* filesOf({ documents, blobs }: ExportFiles): AsyncGenerator<Kept> {
  let after: string | undefined;
  do {
    const batch: ScanBatch = await documents.maintenance.scan(logExports, { limit: BATCH, after });
    for (const { document } of batch.documents) {
      const { id, organisationId } = document;
      const { run, status } = document.body as LogExportBody;
      if (status !== 'success' || run === undefined || run.parts.length === 0) continue;
      yield { id, organisationId, parts: run.parts, whole: await isThere(blobs, run) };
    }
    after = batch.next;
  } while (after !== undefined);
}

/** Copies one blob whole. */
export async function copyBlob(
  source: BlobStore,
  target: BlobStore,
  { name, bytes }: ExportPart,
): Promise<void> {
  // The pieces that an interrupted copy left may differ in size.
  await target.remove(name);
  let at = 0;
  let waiting: Uint8Array[] = [];
  let length = 0;
  const write = async (): Promise<void> => {
    await target.write(name, at, Buffer.concat(waiting));
    at += length;
    waiting = [];
    length = 0;
  };
  for await (const piece of source.read(name, bytes)) {
    waiting.push(piece);
    length += piece.length;
    if (length >= PIECE) await write();
  }
  if (length > 0) await write();
}

/** Of its bytes, SHA-256 in hexadecimal digits. */
export async function hashOfBlob(blobs: BlobStore, { name, bytes }: ExportPart): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of blobs.read(name, bytes)) hash.update(piece);
  return hash.digest('hex');
}
