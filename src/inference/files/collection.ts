// Files that the gateway keeps, as they are stored: what is known of them. Their bytes are in the blob store, encrypted
// with a key of their own.
import { type Collection, defineCollection } from '../../store/collection.ts';

/** A copy of a file at a provider. */
export interface ProviderCopy {
  /** Which provider and account: a digest. */
  readonly at: string;
  /** The file's id there. */
  readonly id: string;
}

/** A file. Times are Unix milliseconds. */
export interface FileBody {
  readonly filename: string;
  readonly purpose: string;
  readonly contentType: string;
  /** Of the plain file. */
  readonly bytes: number;
  /** In the blob store. */
  readonly stored: number;
  /** A part is one of an upload, which no list shows. */
  readonly status: 'uploading' | 'ready' | 'part';
  /** 32 bytes, base64; empty once it is deleted. */
  readonly key: string;
  readonly expiresAt?: number;
  /** The batch that writes it. */
  readonly batch?: string;
  /** The upload that it is a part of. */
  readonly upload?: string;
  readonly copies: readonly ProviderCopy[];
}

export const files: Collection<FileBody> = defineCollection<FileBody>({
  name: 'files',
  schemaVersion: 1,
  fields: [
    { name: 'status', type: 'text' },
    { name: 'purpose', type: 'text' },
    { name: 'expiresAt', type: 'integer', nullable: true },
  ],
  secret: ['key'],
});

/** An upload in parts. Times are Unix milliseconds. */
export interface UploadBody {
  readonly filename: string;
  readonly purpose: string;
  readonly mimeType: string;
  /** Of all parts together, as was said at the beginning. */
  readonly bytes: number;
  /** Of the file. */
  readonly expiresAfterMs?: number;
  readonly status: 'pending' | 'completed' | 'cancelled';
  readonly expiresAt: number;
  readonly fileId?: string;
}

export const uploads: Collection<UploadBody> = defineCollection<UploadBody>({
  name: 'uploads',
  schemaVersion: 1,
  fields: [{ name: 'expiresAt', type: 'integer' }],
});

/** All collections of this room. */
export const fileCollections: readonly Collection<object>[] = [files, uploads];

/** How ids of the gateway's own files begin. */
export const OWN_FILE = 'file-gw-';
/** How ids of its uploads in parts begin, and those of the parts. */
export const OWN_UPLOAD = 'upload_gw_';
export const OWN_PART = 'part_gw_';

/** Whether an id is one of the gateway's own. */
export function isOwnFile(id: string): boolean {
  return id.startsWith(OWN_FILE);
}
