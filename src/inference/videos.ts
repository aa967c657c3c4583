// Videos: jobs of a provider.
import type { BinaryAnswer } from '../../gen/gateway/inference/v2/common_pb.ts';
import type {
  CreateVideoRequest,
  GetVideoContentRequest,
  RemixVideoRequest,
  Video,
  VideoHead,
} from '../../gen/gateway/inference/v2/videos_pb.ts';
import type { Call } from '../call/call.ts';
import type { UploadMessage } from './files/form-reader.ts';
import { contentOf } from './files/native.ts';
import { onlyTarget } from './files/place.ts';
import type { ProviderCopies } from './files/provider-copies.ts';
import { relays } from './files/relays.ts';
import { runForm } from './media/run-form.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

const FILES = { member: 'input_reference', most: { input_reference: 1 }, without: () => true } as const;

/** The methods of VideosService. */
export function videosService(pipeline: Pipeline, copies: ProviderCopies) {
  return {
    ...relays(pipeline, copies, ['listVideos', 'getVideo', 'deleteVideo']),

    async createVideo(messages: AsyncIterable<CreateVideoRequest>, call: Call): Promise<Video> {
      const form = messages as AsyncIterable<UploadMessage<VideoHead>>;
      return (await runForm(pipeline, call, 'createVideo', form, { files: FILES, typed: true })).message!;
    },

    remixVideo: (request: RemixVideoRequest, call: Call): Promise<Video> =>
      runWhole(pipeline, call, 'remixVideo', request, undefined),

    async getVideoContent(request: GetVideoContentRequest, call: Call): Promise<AsyncIterable<BinaryAnswer>> {
      const bound = await onlyTarget(pipeline, call, 'videoContent');
      return contentOf(pipeline, call, bound, 'videoContent', request);
    },
  };
}
