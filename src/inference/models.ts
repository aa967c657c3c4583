// Models of the selected provider.
import type { GetModelRequest, ListModelsRequest } from '../../gen/gateway/inference/v2/models_pb.ts';
import type { Call } from '../access/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** The methods of ModelsService. */
export function modelsService(pipeline: Pipeline) {
  return {
    listModels: (request: ListModelsRequest, call: Call) =>
      runWhole(pipeline, call, 'models', request, undefined),
    getModel: (request: GetModelRequest, call: Call) =>
      runWhole(pipeline, call, 'model', request, request.model),
  };
}
