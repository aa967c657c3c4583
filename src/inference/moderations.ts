// Moderations.
import type { CreateModerationRequest } from '../../gen/gateway/inference/v2/moderations_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** The specification's default, which its provider upgrades over time. */
const DEFAULT_MODEL = 'text-moderation-latest';

/** The methods of ModerationsService. */
export function moderationsService(pipeline: Pipeline) {
  return {
    createModeration: (request: CreateModerationRequest, call: Call) => {
      const model = request.model ?? DEFAULT_MODEL;
      return runWhole(pipeline, call, 'moderations', { ...request, model }, model);
    },
  };
}
