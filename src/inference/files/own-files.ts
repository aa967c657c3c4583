// Files that the gateway keeps itself: encrypted, each for its workspace, within the workspace's quota, until they expire.
import { randomBytes } from 'node:crypto';
import { fail, GatewayError } from '../../lib/errors.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import type { BlobStore } from '../../store/blobs.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { everyDocument } from '../../store/every-document.ts';
import { pageAfter } from '../../store/page-after.ts';
import { openFrames } from '../../store/sealed-frames.ts';
import { type FileBody, files, OWN_FILE, type ProviderCopy } from './collection.ts';
import { FileWriter } from './file-writer.ts';

/** Whose files. */
export interface FileOwner {
  readonly organisationId: string;
  readonly workspaceId: string;
}

export type OwnFile = Document<FileBody>;

/** What keeping takes. */
export interface OwnFilesDeps {
  readonly documents: DocumentStore;
  readonly blobs: BlobStore;
  /** Of one file, in bytes. */
  readonly maxBytes: number;
  /** Of all files of a workspace, in bytes. */
  readonly quotaBytes: number;
  /** How long a file is kept that does not say so itself, in milliseconds; undefined: until it is deleted. */
  readonly keptMs: number | undefined;
  readonly organisations: () => Iterable<string>;
  /** This process is the only one with the store: uploads that it does not make have been cut. */
  readonly alone: boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** A file to be. */
export interface NewFile {
  readonly filename: string;
  readonly contentType: string;
  readonly purpose: string;
  /** Milliseconds. */
  readonly expiresAfterMs?: number | undefined;
  readonly batch?: string;
  /** The upload that it is a part of. */
  readonly upload?: string;
}

/** Which files of a list. */
export interface FileQuery {
  readonly purpose?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

/** Between two sweeps, in milliseconds. */
const SWEEP_MS = 60_000;
/** An upload tells so often that it goes on, and is given up after the longer time, in milliseconds. */
const TELL_MS = 60_000;
const GIVEN_UP_MS = 600_000;
/** Files for batches are kept so long, as are files that batches write. */
const BATCH_MS = 30 * 86_400_000;
const MAX_FILES = 10_000;
const RACES = 5;

/** The files of all workspaces. */
export class OwnFiles {
  readonly #deps: OwnFilesDeps;
  readonly #timer: NodeJS.Timeout;
  /** Uploads of this process. */
  readonly #uploading = new Set<string>();
  #swept: Promise<void> = Promise.resolve();

  constructor(deps: OwnFilesDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => {
      this.#swept = this.sweep();
    }, SWEEP_MS).unref();
  }

  /**
   * Begins a file. `end` or `drop` follows.
   * @param instead bytes of parts that it takes the place of
   * @throws GatewayError body_too_large when the workspace keeps too much
   */
  async begin(owner: FileOwner, file: NewFile, instead = 0): Promise<FileUpload> {
    const { documents, now } = this.#deps;
    const used = Math.max(0, (await this.#used(owner)) - instead);
    const id = OWN_FILE + timeOrderedId();
    const key = randomBytes(32);
    const body: FileBody = {
      ...fieldsOf(file),
      expiresAt: this.#expiryOf(file),
      bytes: 0,
      stored: 0,
      status: 'uploading',
      key: key.toString('base64'),
      copies: [],
    } as FileBody;
    this.#uploading.add(id);
    try {
      const document = await documents.insert(owner, files, { id, createdAt: now(), body });
      return new FileUpload(this.#deps, this, owner, document, key, used, () => this.#uploading.delete(id));
    } catch (error) {
      this.#uploading.delete(id);
      throw error;
    }
  }

  /** Undefined: the workspace has none of this id. @throws GatewayError store_unavailable */
  async get(owner: FileOwner, id: string): Promise<OwnFile | undefined> {
    const found = await this.#deps.documents.get(owner, files, id);
    if (found === undefined || found.id !== id || found.body.status !== 'ready') return undefined;
    return this.#isOver(found) ? undefined : found;
  }

  /**
   * A file that a batch writes: begun, or the one that a killed process began. `finish` and `drop` end it.
   * @param id of the one that was begun; undefined: there is none
   */
  async openWritten(
    owner: FileOwner,
    id: string | undefined,
    batch: string,
    filename: string,
    expiresAfterMs: number | undefined,
  ): Promise<WrittenFile> {
    const { documents, blobs, now } = this.#deps;
    let found = id === undefined ? undefined : await documents.get(owner, files, id);
    if (found === undefined) {
      const file = {
        filename,
        contentType: 'application/jsonl',
        purpose: 'batch_output',
        expiresAfterMs,
        batch,
      };
      const expiresAt = this.#expiryOf(file);
      const body: FileBody = {
        ...fieldsOf(file),
        ...(expiresAt === undefined ? {} : { expiresAt }),
        bytes: 0,
        stored: 0,
        status: 'uploading',
        key: randomBytes(32).toString('base64'),
        copies: [],
      };
      found = await documents.insert(owner, files, {
        id: OWN_FILE + timeOrderedId(),
        createdAt: now(),
        body,
      });
    }
    const document = found;
    const writer = new FileWriter(blobs, document.id, Buffer.from(document.body.key, 'base64'));
    return {
      id: document.id,
      writer,
      finish: async () => {
        if (document.body.status === 'ready') return true;
        if (writer.bytes === 0) {
          await this.remove(owner, document.id);
          return false;
        }
        await writer.end();
        const { bytes, stored } = writer;
        await this.#change(owner, document.id, (body) => ({ ...body, bytes, stored, status: 'ready' }));
        return true;
      },
      drop: async () => void (await this.remove(owner, document.id)),
    };
  }

  /** The parts of an upload that are whole. @throws GatewayError store_unavailable */
  async partsOf(owner: FileOwner, upload: string): Promise<OwnFile[]> {
    const filter = [{ field: 'status', op: 'eq', value: 'part' } as const];
    const parts: OwnFile[] = [];
    for await (const part of everyDocument(this.#deps.documents, owner, files, { filter }))
      if (part.body.upload === upload && !this.#isOver(part)) parts.push(part);
    return parts;
  }

  /** A page, and whether more follow. @throws GatewayError validation_failed for an unknown `after` */
  async list(owner: FileOwner, query: FileQuery): Promise<{ files: OwnFile[]; more: boolean }> {
    const wanted = (one: OwnFile): boolean => !this.#isOver(one);
    const filter = [
      { field: 'status', op: 'eq', value: 'ready' } as const,
      ...(query.purpose === undefined ? [] : [{ field: 'purpose', op: 'eq', value: query.purpose } as const]),
    ];
    const { documents: found, more } = await pageAfter(this.#deps.documents, owner, files, {
      ...query,
      filter,
      wanted,
    });
    return { files: found, more };
  }

  /** Its bytes. @throws GatewayError store_unavailable */
  async *read({ id, body }: OwnFile): AsyncGenerator<Uint8Array> {
    const { blobs } = this.#deps;
    const key = Buffer.from(body.key, 'base64');
    for await (const { bytes } of openFrames(key, id, blobs.read(id, body.stored)))
      if (bytes.length > 0) yield bytes;
  }

  /** Deletes it: its key first, which makes its bytes unreadable. Whether there was one. */
  async remove(owner: FileOwner, id: string): Promise<boolean> {
    const { documents, blobs, now } = this.#deps;
    const gone = await this.#change(owner, id, (body) => ({
      ...body,
      filename: '',
      key: '',
      expiresAt: 0,
      copies: [],
    }));
    if (gone === undefined) return false;
    await blobs.remove(id);
    await documents.archive(owner, files, id, { updatedAt: now() });
    return true;
  }

  /** Notes a copy at a provider. @returns the id there: of the copy that was noted first */
  async noteCopy(owner: FileOwner, id: string, copy: ProviderCopy): Promise<string> {
    const known = (body: FileBody) => body.copies.find(({ at }) => at === copy.at);
    const changed = await this.#change(owner, id, (body) =>
      known(body) === undefined ? { ...body, copies: [...body.copies, copy] } : undefined,
    );
    return (changed && known(changed.body)?.id) ?? copy.id;
  }

  /** Forgets a copy that its provider does not have any more. */
  async forgetCopy(owner: FileOwner, id: string, at: string): Promise<void> {
    await this.#change(owner, id, (body) => ({
      ...body,
      copies: body.copies.filter((one) => one.at !== at),
    }));
  }

  /** Deletes what has expired, and what is left of uploads that were cut. */
  async sweep(): Promise<void> {
    const { documents, organisations, now, alone, onTrouble } = this.#deps;
    for (const organisationId of organisations()) {
      try {
        const scope = { organisationId, workspaceId: undefined };
        const over = { field: 'expiresAt', op: 'lte', value: now() } as const;
        const cut = { field: 'status', op: 'eq', value: 'uploading' } as const;
        for (const filter of [[over], [cut]]) {
          const page = await documents.page(scope, files, { filter, pageSize: 1000 });
          for (const { id, workspaceId, updatedAt, body } of page.documents) {
            if (workspaceId === undefined || this.#uploading.has(id)) continue;
            if (
              filter[0] === cut &&
              (body.batch !== undefined || !(alone || updatedAt + GIVEN_UP_MS <= now()))
            )
              continue;
            await this.remove({ organisationId, workspaceId }, id);
          }
        }
      } catch (error) {
        onTrouble(error, 'files that are over could not be deleted yet');
      }
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#swept;
  }

  /** Writes a change of the newest version; undefined: there is no such file. `make` without a result changes nothing. */
  async #change(
    owner: FileOwner,
    id: string,
    make: (body: FileBody) => FileBody | undefined,
  ): Promise<OwnFile | undefined> {
    const { documents, now } = this.#deps;
    for (let race = 1; ; race++) {
      const found = await documents.get(owner, files, id);
      if (found === undefined || found.id !== id) return undefined;
      const body = make(found.body);
      if (body === undefined) return found;
      try {
        return await documents.update(owner, files, id, found.version, { body, updatedAt: now() });
      } catch (error) {
        const lost = error instanceof GatewayError && error.reason === 'version_conflict';
        if (!lost || race === RACES) throw error;
      }
    }
  }

  #isOver({ body }: OwnFile): boolean {
    return body.expiresAt !== undefined && body.expiresAt <= this.#deps.now();
  }

  #expiryOf({ expiresAfterMs, purpose }: NewFile): number | undefined {
    const { now, keptMs } = this.#deps;
    const ms = expiresAfterMs ?? (purpose.startsWith('batch') ? BATCH_MS : keptMs);
    return ms === undefined ? undefined : now() + Math.min(ms, keptMs ?? ms);
  }

  /** Bytes that a workspace keeps. @throws GatewayError body_too_large when it has as many files as it may */
  async #used(owner: FileOwner): Promise<number> {
    let bytes = 0;
    let count = 0;
    for await (const { body } of everyDocument(this.#deps.documents, owner, files)) {
      bytes += body.bytes;
      count += 1;
    }
    if (count >= MAX_FILES)
      throw fail(
        'body_too_large',
        `file: the workspace keeps ${MAX_FILES} files, which is the most; delete some`,
        {
          param: 'file',
        },
      );
    return bytes;
  }

  /** The expiry of a file, told when its purpose is known. */
  expiry(file: NewFile): number | undefined {
    return this.#expiryOf(file);
  }
}

/** A file that a batch writes. */
export interface WrittenFile {
  readonly id: string;
  readonly writer: FileWriter;
  /** Makes it readable. False: nothing was written, and it is gone. */
  finish(): Promise<boolean>;
  drop(): Promise<void>;
}

/** A file while it is written. */
export class FileUpload {
  readonly #deps: OwnFilesDeps;
  readonly #files: OwnFiles;
  readonly #owner: FileOwner;
  readonly #used: number;
  readonly #writer: FileWriter;
  readonly #done: () => void;
  #document: OwnFile;
  #toldAt: number;

  constructor(
    deps: OwnFilesDeps,
    own: OwnFiles,
    owner: FileOwner,
    document: OwnFile,
    key: Uint8Array,
    used: number,
    done: () => void,
  ) {
    this.#deps = deps;
    this.#files = own;
    this.#owner = owner;
    this.#document = document;
    this.#used = used;
    this.#done = done;
    this.#writer = new FileWriter(deps.blobs, document.id, key);
    this.#toldAt = deps.now();
  }

  get id(): string {
    return this.#document.id;
  }

  get bytes(): number {
    return this.#writer.bytes;
  }

  /** @throws GatewayError body_too_large above the limit of a file or of the workspace; store_unavailable */
  async write(bytes: Uint8Array): Promise<void> {
    const { maxBytes, quotaBytes, now } = this.#deps;
    const size = this.#writer.bytes + bytes.length;
    if (size > maxBytes) throw tooLarge(`a file may have ${maxBytes} bytes`);
    if (this.#used + size > quotaBytes)
      throw tooLarge(`the files of a workspace may have ${quotaBytes} bytes together; delete some`);
    await this.#writer.write(bytes);
    if (now() - this.#toldAt < TELL_MS) return;
    this.#toldAt = now();
    await this.#update({ ...this.#document.body, bytes: this.#writer.bytes });
  }

  /** The file is whole. */
  async end(file: NewFile): Promise<OwnFile> {
    await this.#writer.end();
    const { expiresAt: _, ...body } = this.#document.body;
    const expiresAt = this.#files.expiry(file);
    const { bytes, stored } = this.#writer;
    await this.#update({
      ...body,
      ...fieldsOf(file),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      bytes,
      stored,
      status: file.upload === undefined ? 'ready' : 'part',
    });
    this.#done();
    return this.#document;
  }

  /** Deletes the file with its bytes. */
  async drop(): Promise<void> {
    try {
      await this.#files.remove(this.#owner, this.id);
    } catch (error) {
      this.#deps.onTrouble(error, 'what is left of a cut upload could not be deleted yet');
    } finally {
      this.#done();
    }
  }

  async #update(body: FileBody): Promise<void> {
    const { documents, now } = this.#deps;
    const { id, version } = this.#document;
    this.#document = await documents.update(this.#owner, files, id, version, { body, updatedAt: now() });
  }
}

function fieldsOf({ filename, contentType, purpose, batch, upload }: NewFile) {
  return {
    filename,
    contentType,
    purpose,
    ...(batch === undefined ? {} : { batch }),
    ...(upload === undefined ? {} : { upload }),
  };
}

function tooLarge(why: string): GatewayError {
  return fail('body_too_large', `file: ${why}`, { param: 'file' });
}
