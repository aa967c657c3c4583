// Uploads in parts, at providers that publish them.
import type {
  AddUploadPartHead,
  AddUploadPartRequest,
  UploadPart,
} from '../../../gen/gateway/inference/v2/uploads_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail } from '../../lib/errors.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { formBody } from './form-body.ts';
import { FormReader, type UploadMessage } from './form-reader.ts';
import { sendForm } from './native.ts';
import { placeOf } from './place.ts';
import type { ProviderCopies } from './provider-copies.ts';
import { relays } from './relays.ts';

/** The methods of UploadsService. */
export function uploadsService(pipeline: Pipeline, copies: ProviderCopies) {
  return {
    ...relays(pipeline, copies, ['createUpload', 'completeUpload', 'cancelUpload']),

    async addUploadPart(messages: AsyncIterable<AddUploadPartRequest>, call: Call): Promise<UploadPart> {
      const parts = messages as AsyncIterable<UploadMessage<AddUploadPartHead>>;
      const form = await FormReader.open(parts, 'data', call.signal);
      try {
        const bound = await placeOf(pipeline, call, 'addUploadPart');
        if (bound === undefined)
          throw fail(
            'operation_unsupported',
            'uploads in parts need one provider that has them: send the file to /files',
          );
        const { filename, contentType } = await form.file();
        const body = formBody({
          before: {},
          member: 'data',
          filename: filename || 'data',
          contentType: contentType || 'application/octet-stream',
          bytes: form.bytes(),
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
