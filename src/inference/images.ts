// Images.
import type { BinaryAnswer } from '../../gen/gateway/inference/v2/common_pb.ts';
import type {
  CreateImageEditRequest,
  CreateImageRequest,
  CreateImageVariationRequest,
  ImageEditHead,
  Images,
  ImageVariationHead,
} from '../../gen/gateway/inference/v2/images_pb.ts';
import type { Call } from '../call/call.ts';
import type { UploadMessage } from './files/form-reader.ts';
import { bytesOf } from './media/form-answer.ts';
import { runForm } from './media/run-form.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

const EDIT = { member: 'image', most: { image: 16, mask: 1 }, without: namesImages } as const;
const VARIATION = { member: 'image', most: { image: 1 } } as const;

/** The methods of ImagesService. */
export function imagesService(pipeline: Pipeline) {
  return {
    createImage: (request: CreateImageRequest, call: Call) =>
      runWhole(pipeline, call, 'images', request, request.model),
    streamImage: (request: CreateImageRequest, call: Call) =>
      runStream(pipeline, call, 'images', request, request.model),

    async createImageEdit(messages: AsyncIterable<CreateImageEditRequest>, call: Call): Promise<Images> {
      const form = messages as AsyncIterable<UploadMessage<ImageEditHead>>;
      return (await runForm(pipeline, call, 'imageEdits', form, { files: EDIT, typed: true })).message!;
    },

    async streamImageEdit(
      messages: AsyncIterable<CreateImageEditRequest>,
      call: Call,
    ): Promise<AsyncIterable<BinaryAnswer>> {
      const form = messages as AsyncIterable<UploadMessage<ImageEditHead>>;
      const answer = await runForm(pipeline, call, 'imageEdits', form, { files: EDIT, typed: false });
      return answer.events ?? inPieces(bytesOf(answer.kept, 'imageEdits', answer.message));
    },

    async createImageVariation(
      messages: AsyncIterable<CreateImageVariationRequest>,
      call: Call,
    ): Promise<Images> {
      const form = messages as AsyncIterable<UploadMessage<ImageVariationHead>>;
      return (await runForm(pipeline, call, 'imageVariations', form, { files: VARIATION, typed: true }))
        .message!;
    },
  };
}

/** JSON says where the images are: OpenAI's form has `images`, that of others `image`. */
function namesImages(head: object): boolean {
  const { extra = {} } = head as ImageEditHead;
  return extra.images !== undefined || extra.image !== undefined;
}

async function* inPieces(pieces: Iterable<BinaryAnswer>): AsyncGenerator<BinaryAnswer> {
  yield* pieces;
}
