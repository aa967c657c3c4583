// Models: of the selected provider, or those that the caller's workspace may use.
import type {
  GetModelRequest,
  ListModelsRequest,
  Model,
  ModelList,
} from '../../gen/gateway/inference/v2/models_pb.ts';
import type { Call } from '../call/call.ts';
import { GatewayError } from '../lib/errors.ts';
import { aliasModel, type OwnModelsDeps, ownModels } from './own-models.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** The methods of ModelsService. */
export function modelsService(pipeline: Pipeline, own: OwnModelsDeps) {
  const listOwn = (request: ListModelsRequest, { principal, headers }: Call): ModelList => {
    const provider = headers.get('provider') ?? headers.get('virtual-key');
    const wanted = provider?.replace(/^@/, '');
    if (principal === undefined) return ownModels(own.models, [], [], request, wanted);
    const aliases = own.aliasesOf(principal).map(aliasModel);
    return ownModels(own.models, own.providersOf(principal), aliases, request, wanted);
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
    async getModel(request: GetModelRequest, call: Call): Promise<Model> {
      const alias =
        selectsNothing(call) && call.principal !== undefined
          ? own.aliasesOf(call.principal).find(({ name }) => name === request.model)
          : undefined;
      if (alias !== undefined) return aliasModel(alias);
      return runWhole(pipeline, call, 'model', request, request.model);
    },
  };
}

function selectsNothing({ headers }: Call): boolean {
  return ['provider', 'virtual-key', 'config', 'custom-host'].every(
    (name) => headers.get(name) === undefined,
  );
}
