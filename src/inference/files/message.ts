// The gateway's own files as callers see them.
import { create } from '@bufbuild/protobuf';
import { type File, FileSchema } from '../../../gen/gateway/inference/v2/files_pb.ts';
import type { OwnFile } from './own-files.ts';

/** Times in seconds. */
export function fileMessage({ id, createdAt, body }: OwnFile): File {
  const { bytes, filename, purpose, expiresAt } = body;
  return create(FileSchema, {
    id,
    object: 'file',
    bytes: BigInt(bytes),
    createdAt: seconds(createdAt),
    ...(expiresAt === undefined ? {} : { expiresAt: seconds(expiresAt) }),
    filename,
    purpose,
    status: 'processed',
  });
}

/** Unix seconds of Unix milliseconds. */
export function seconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000));
}
