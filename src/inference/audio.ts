// Audio: speech and voices.
import type { CreateSpeechRequest, ListVoicesRequest } from '../../gen/gateway/inference/v2/audio_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

/** The methods of AudioService. */
export function audioService(pipeline: Pipeline) {
  return {
    createSpeech: (request: CreateSpeechRequest, call: Call) =>
      runStream(pipeline, call, 'speech', request, request.model),
    listVoices: (request: ListVoicesRequest, call: Call) =>
      runWhole(pipeline, call, 'voices', request, undefined),
  };
}
