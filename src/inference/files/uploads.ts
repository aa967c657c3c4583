// Uploads in parts: at providers that publish them, else kept by the gateway.
import { create } from '@bufbuild/protobuf';
import {
  type AddUploadPartHead,
  type AddUploadPartRequest,
  type CancelUploadRequest,
  type CompleteUploadRequest,
  type CreateUploadRequest,
  type Upload,
  type UploadPart,
  UploadPartSchema,
  UploadSchema,
} from '../../../gen/gateway/inference/v2/uploads_pb.ts';
import type { Call } from '../../call/call.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { OWN_UPLOAD } from './collection.ts';
import { formBody } from './form-body.ts';
import { FormReader, type UploadMessage } from './form-reader.ts';
import { fileMessage, seconds } from './message.ts';
import { sendForm } from './native.ts';
import type { OwnFile } from './own-files.ts';
import { MAX_PART, type OwnUpload, type OwnUploads } from './own-uploads.ts';
import { ownerOf } from './owner.ts';
import { onlyTarget, placeOf } from './place.ts';
import type { ProviderCopies } from './provider-copies.ts';
import { checkPurpose } from './purposes.ts';
import { relays } from './relays.ts';

const isOwn = (id: string): boolean => id.startsWith(OWN_UPLOAD);

/** The methods of UploadsService. */
export function uploadsService(pipeline: Pipeline, copies: ProviderCopies, uploads: OwnUploads) {
  const relayed = relays(pipeline, copies, ['createUpload', 'completeUpload', 'cancelUpload']);
  return {
    async createUpload(request: CreateUploadRequest, call: Call): Promise<Upload> {
      const bound = await placeOf(pipeline, call, 'createUpload', true);
      checkPurpose(request.purpose, bound);
      if (bound !== undefined) return relayed.createUpload(request, call);
      const { filename, purpose, bytes, mimeType, expiresAfter } = request;
      const expiresAfterMs = expiresAfter && Number(expiresAfter.seconds) * 1000;
      const upload = { filename, purpose, bytes: Number(bytes), mimeType, expiresAfterMs };
      return uploadMessage(await uploads.create(ownerOf(call), upload));
    },

    async completeUpload(request: CompleteUploadRequest, call: Call): Promise<Upload> {
      const { uploadId, partIds, md5 } = request;
      if (!isOwn(uploadId)) return relayed.completeUpload(request, call);
      const { upload, file } = await uploads.complete(ownerOf(call), uploadId, partIds, md5);
      return uploadMessage(upload, file);
    },

    async cancelUpload(request: CancelUploadRequest, call: Call): Promise<Upload> {
      if (!isOwn(request.uploadId)) return relayed.cancelUpload(request, call);
      return uploadMessage(await uploads.cancel(ownerOf(call), request.uploadId));
    },

    async addUploadPart(messages: AsyncIterable<AddUploadPartRequest>, call: Call): Promise<UploadPart> {
      const parts = messages as AsyncIterable<UploadMessage<AddUploadPartHead>>;
      const form = await FormReader.open(parts, 'data', call.signal);
      try {
        const { uploadId } = form.head;
        if (isOwn(uploadId)) {
          const bytes = async function* () {
            await form.file();
            yield* form.bytes(MAX_PART);
          };
          const { id, createdAt } = await uploads.addPart(ownerOf(call), uploadId, bytes);
          const made = { id, object: 'upload.part', createdAt: seconds(createdAt), uploadId };
          return create(UploadPartSchema, made);
        }
        const bound = await onlyTarget(pipeline, call, 'addUploadPart');
        const { filename, contentType } = await form.file();
        const body = formBody({
          before: {},
          member: 'data',
          filename: filename || 'data',
          contentType: contentType || 'application/octet-stream',
          bytes: form.bytes(MAX_PART),
          after: () => ({}),
        });
        const sending = { form: body, fault: () => form.error };
        return await sendForm(pipeline, call, bound, 'addUploadPart', form.head, sending);
      } finally {
        form.leave();
      }
    },
  };
}

function uploadMessage({ id, createdAt, body }: OwnUpload, file?: OwnFile): Upload {
  const { bytes, expiresAt, filename, purpose, status } = body;
  return create(UploadSchema, {
    id,
    object: 'upload',
    bytes: BigInt(bytes),
    createdAt: seconds(createdAt),
    expiresAt: seconds(expiresAt),
    filename,
    purpose,
    status,
    ...(file && { file: fileMessage(file) }),
  });
}
