// Containers, and the files in them.
import type { BinaryAnswer } from '../../gen/gateway/inference/v2/common_pb.ts';
import type {
  ContainerFile,
  ContainerFileHead,
  CreateContainerFileRequest,
  GetContainerFileContentRequest,
} from '../../gen/gateway/inference/v2/containers_pb.ts';
import type { Call } from '../call/call.ts';
import { RELAYED_CONTAINERS } from '../providers/relayed-rows.ts';
import { formBody } from './files/form-body.ts';
import { FormReader, type UploadMessage } from './files/form-reader.ts';
import { contentOf, sendForm } from './files/native.ts';
import { onlyTarget } from './files/place.ts';
import type { ProviderCopies } from './files/provider-copies.ts';
import { relays } from './files/relays.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** The methods of ContainersService. */
export function containersService(pipeline: Pipeline, copies: ProviderCopies) {
  return {
    ...relays(pipeline, copies, RELAYED_CONTAINERS),

    async createContainerFile(
      messages: AsyncIterable<CreateContainerFileRequest>,
      call: Call,
    ): Promise<ContainerFile> {
      const parts = messages as AsyncIterable<UploadMessage<ContainerFileHead>>;
      const form = await FormReader.open(parts, 'file', call.signal);
      try {
        const bound = await onlyTarget(pipeline, call, 'createContainerFile');
        const { head } = form;
        if (head.fileId !== undefined) {
          const { fileId } = await copies.replaced(call, bound, { fileId: head.fileId });
          return await runWhole(pipeline, call, 'createContainerFile', { ...head, fileId }, undefined);
        }
        const { filename, contentType } = await form.file();
        const body = formBody({
          before: { ...head.extra },
          member: 'file',
          filename: filename || 'file',
          contentType: contentType || 'application/octet-stream',
          bytes: form.bytes(),
          after: () => ({}),
        });
        const sending = { form: body, fault: () => form.error };
        return await sendForm(pipeline, call, bound, 'createContainerFile', head, sending);
      } finally {
        form.leave();
      }
    },

    async getContainerFileContent(
      request: GetContainerFileContentRequest,
      call: Call,
    ): Promise<AsyncIterable<BinaryAnswer>> {
      const bound = await onlyTarget(pipeline, call, 'containerFileContent');
      return contentOf(pipeline, call, bound, 'containerFileContent', request);
    },
  };
}
