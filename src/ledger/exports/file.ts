// The file of a finished export: the parts that its turns wrote, in order.
import type { BlobStore } from '../../store/blobs.ts';
import type { DocumentStore } from '../../store/documents.ts';
import { type ExportRun, logExports } from './collection.ts';
import type { ExportLinks } from './link.ts';

/** What a download gets. */
export interface ExportFile {
  readonly name: string;
  readonly bytes: number;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** What finding it takes. */
export interface ExportFileDeps {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly blobs: BlobStore;
  readonly links: ExportLinks;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The file that an address is for; undefined when it is none, not any more, or the file is gone. @throws GatewayError store_unavailable */
export async function exportFile(deps: ExportFileDeps, token: string): Promise<ExportFile | undefined> {
  const link = deps.links.read(token, deps.now());
  if (link === undefined) return undefined;
  const found = await deps.documents.get(link.scope, logExports, link.exportId);
  const run = found?.body.status === 'success' ? found.body.run : undefined;
  if (run === undefined || !(await isThere(deps.blobs, run))) return undefined;
  return { name: `logs-${link.exportId}.jsonl`, bytes: run.bytes, pieces: piecesOf(deps.blobs, run) };
}

/** Whether all bytes of a run are there: a copy of the documents has none of them. */
export async function isThere(blobs: BlobStore, { parts, bytes }: ExportRun): Promise<boolean> {
  let there = 0;
  for (const part of parts) {
    if ((await blobs.size(part.name)) < part.bytes) return false;
    there += part.bytes;
  }
  return there === bytes;
}

async function* piecesOf(blobs: BlobStore, { parts }: ExportRun): AsyncGenerator<Uint8Array> {
  for (const { name, bytes } of parts) yield* blobs.read(name, bytes);
}
