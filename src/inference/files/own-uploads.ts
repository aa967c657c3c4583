// Uploads in parts that the gateway keeps: each part is a file of its own until all are put together.
import { createHash } from 'node:crypto';
import { fail, GatewayError, invalidField } from '../../lib/errors.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { OWN_FILE, OWN_PART, OWN_UPLOAD, type UploadBody, uploads } from './collection.ts';
import type { FileOwner, NewFile, OwnFile, OwnFiles } from './own-files.ts';

export type OwnUpload = Document<UploadBody>;

/** What uploads are kept with. */
export interface OwnUploadsDeps {
  readonly documents: DocumentStore;
  readonly files: OwnFiles;
  /** Of one file, in bytes. */
  readonly maxBytes: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** An upload to be. */
export interface NewUpload {
  readonly filename: string;
  readonly purpose: string;
  readonly bytes: number;
  readonly mimeType: string;
  readonly expiresAfterMs: number | undefined;
}

/** Of one part, in bytes. */
export const MAX_PART = 64 * 1024 * 1024;
/** An upload ends so long after its beginning, in milliseconds. */
const KEPT_MS = 3_600_000;
/** What is known of an upload that has ended is kept so long, in milliseconds. */
const TOLD_MS = 24 * KEPT_MS;
const RACES = 5;

/** The uploads of all workspaces. */
export class OwnUploads {
  readonly #deps: OwnUploadsDeps;

  constructor(deps: OwnUploadsDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError validation_failed for more bytes than a file may have */
  async create(owner: FileOwner, upload: NewUpload): Promise<OwnUpload> {
    const { documents, maxBytes, now } = this.#deps;
    if (upload.bytes > maxBytes) throw invalidField('bytes', `must be at most ${maxBytes}`, 'lte');
    await this.#forget(owner);
    const { expiresAfterMs, ...rest } = upload;
    const body: UploadBody = {
      ...rest,
      ...(expiresAfterMs === undefined ? {} : { expiresAfterMs }),
      status: 'pending',
      expiresAt: now() + KEPT_MS,
    };
    return documents.insert(owner, uploads, { id: OWN_UPLOAD + timeOrderedId(), createdAt: now(), body });
  }

  /** @throws GatewayError not_found, validation_failed for an upload that has ended; body_too_large */
  async addPart(
    owner: FileOwner,
    id: string,
    bytes: () => AsyncIterable<Uint8Array>,
  ): Promise<{ readonly id: string; readonly createdAt: number }> {
    const { files, now } = this.#deps;
    const { body } = await this.#pending(owner, id);
    const part: NewFile = {
      filename: '',
      contentType: '',
      purpose: 'upload_part',
      expiresAfterMs: body.expiresAt - now(),
      upload: id,
    };
    const writing = await files.begin(owner, part);
    try {
      for await (const piece of bytes()) {
        await writing.write(piece);
      }
      if (writing.bytes === 0) throw invalidField('data', 'must not be empty');
      // It may have ended while the part came.
      await this.#pending(owner, id);
      const { createdAt } = await writing.end(part);
      return { id: OWN_PART + writing.id.slice(OWN_FILE.length), createdAt };
    } catch (thrown) {
      await writing.drop();
      throw thrown;
    }
  }

  /**
   * Puts the parts together.
   * @param md5 of the whole, in hexadecimal digits; undefined: it is not compared
   * @throws GatewayError not_found; validation_failed for an upload that has ended, parts that are not its own, and bytes that
   * are others than were said: then it goes on
   */
  async complete(
    owner: FileOwner,
    id: string,
    partIds: readonly string[],
    md5: string | undefined,
  ): Promise<{ readonly upload: OwnUpload; readonly file: OwnFile }> {
    const { files } = this.#deps;
    const { body } = await this.#pending(owner, id);
    const parts = await this.#parts(owner, id, partIds);
    const sum = parts.reduce((bytes, part) => bytes + part.body.bytes, 0);
    if (sum !== body.bytes)
      throw invalidField(
        'part_ids',
        `name parts of ${sum} bytes, and the upload was begun for ${body.bytes}`,
      );
    const { filename, purpose, mimeType: contentType, expiresAfterMs } = body;
    const whole: NewFile = { filename, purpose, contentType, expiresAfterMs };
    const writing = await files.begin(owner, whole, sum);
    try {
      const hash = md5 === undefined ? undefined : createHash('md5');
      for (const part of parts)
        for await (const piece of files.read(part)) {
          hash?.update(piece);
          await writing.write(piece);
        }
      if (hash !== undefined && hash.digest('hex') !== md5?.toLowerCase())
        throw invalidField('md5', 'is another one than that of the parts in this order');
      const file = await writing.end(whole);
      const upload = await this.#end(owner, id, (one) => ({ ...one, status: 'completed', fileId: file.id }));
      await this.#dropParts(owner, id);
      return { upload, file };
    } catch (thrown) {
      await writing.drop();
      throw thrown;
    }
  }

  /** Its parts are deleted. @throws GatewayError not_found, validation_failed for an upload that has ended */
  async cancel(owner: FileOwner, id: string): Promise<OwnUpload> {
    const upload = await this.#end(owner, id, (body) => ({ ...body, status: 'cancelled' }));
    await this.#dropParts(owner, id);
    return upload;
  }

  async #pending(owner: FileOwner, id: string): Promise<OwnUpload> {
    const { documents, now } = this.#deps;
    const found = await documents.get(owner, uploads, id);
    if (found?.id !== id)
      throw fail('not_found', `upload_id: there is no upload ${id.slice(0, 100)} in this workspace`, {
        param: 'upload_id',
      });
    const { status, expiresAt } = found.body;
    if (status !== 'pending') throw invalidField('upload_id', `names an upload that is ${status}`);
    if (expiresAt <= now()) throw invalidField('upload_id', 'names an upload that is expired');
    return found;
  }

  async #end(owner: FileOwner, id: string, make: (body: UploadBody) => UploadBody): Promise<OwnUpload> {
    const { documents, now } = this.#deps;
    for (let race = 1; ; race++) {
      const { body, version } = await this.#pending(owner, id);
      try {
        return await documents.update(owner, uploads, id, version, { body: make(body), updatedAt: now() });
      } catch (error) {
        const lost = error instanceof GatewayError && error.reason === 'version_conflict';
        if (!lost || race === RACES) throw error;
      }
    }
  }

  /** In the order that is asked for. */
  async #parts(owner: FileOwner, id: string, partIds: readonly string[]): Promise<OwnFile[]> {
    const known = new Map((await this.#deps.files.partsOf(owner, id)).map((part) => [part.id, part]));
    return partIds.map((partId, i) => {
      const part = known.get(OWN_FILE + partId.slice(OWN_PART.length));
      if (!partId.startsWith(OWN_PART) || part === undefined)
        throw invalidField(`part_ids[${i}]`, 'names no part of this upload, or one that is named before');
      known.delete(part.id);
      return part;
    });
  }

  async #dropParts(owner: FileOwner, id: string): Promise<void> {
    const { files } = this.#deps;
    for (const part of await files.partsOf(owner, id)) await files.remove(owner, part.id);
  }

  /** Uploads that have long ended. */
  async #forget(owner: FileOwner): Promise<void> {
    const { documents, now } = this.#deps;
    const filter = [{ field: 'expiresAt', op: 'lte', value: now() - TOLD_MS } as const];
    const { documents: over } = await documents.page(owner, uploads, { filter, pageSize: 100 });
    for (const { id } of over) await documents.archive(owner, uploads, id, { updatedAt: now() });
  }
}
