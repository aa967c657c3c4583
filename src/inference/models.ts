// Models: of the selected provider, or those that the caller's workspace may use.
import type {
  GetModelRequest,
  ListModelsRequest,
  ModelList,
} from '../../gen/gateway/inference/v2/models_pb.ts';
import type { Call } from '../call/call.ts';
import { GatewayError } from '../lib/errors.ts';
import { type OwnModelsDeps, ownModels } from './own-models.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** The methods of ModelsService. */
export function modelsService(pipeline: Pipeline, own: OwnModelsDeps) {
  const listOwn = (request: ListModelsRequest, { principal, headers }: Call): ModelList => {
    const provider = headers.get('provider') ?? headers.get('virtual-key');
    const wanted = provider?.replace(/^@/, '');
    return ownModels(own.models, principal === undefined ? [] : own.providersOf(principal), request, wanted);
  };
  return {
    async listModels(request: ListModelsRequest, call: Call): Promise<ModelList> {
      if (call.headers.get('fetch-integrated-models') === 'true') return listOwn(request, call);
      try {
        return await runWhole(pipeline, call, 'models', request, undefined);
      } catch (error) {
        // Who selects nothing asks what there is to select.
        const nothing = error instanceof GatewayError && error.reason === 'provider_missing';
        if (nothing && selectsNothing(call)) return listOwn(request, call);
        throw error;
      }
    },
    getModel: (request: GetModelRequest, call: Call) =>
      runWhole(pipeline, call, 'model', request, request.model),
  };
}

function selectsNothing({ headers }: Call): boolean {
  return ['provider', 'virtual-key', 'config', 'custom-host'].every(
    (name) => headers.get(name) === undefined,
  );
}
