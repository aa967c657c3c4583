// Images.
import type { CreateImageRequest } from '../../gen/gateway/inference/v2/images_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

/** The methods of ImagesService that make images of a prompt. */
export function imagesService(pipeline: Pipeline) {
  return {
    createImage: (request: CreateImageRequest, call: Call) =>
      runWhole(pipeline, call, 'images', request, request.model),
    streamImage: (request: CreateImageRequest, call: Call) =>
      runStream(pipeline, call, 'images', request, request.model),
  };
}
