// Models: of the selected provider, or those that the caller's workspace may use.
import { create } from '@bufbuild/protobuf';
import {
  type GetModelRequest,
  type ListModelsRequest,
  ListModelsRequestSchema,
  type Model,
  type ModelList,
  ModelListSchema,
} from '../../gen/gateway/inference/v2/models_pb.ts';
import type { UsableProvider } from '../access/providers/usable-provider.ts';
import type { Call } from '../call/call.ts';
import { fail, GatewayError } from '../lib/errors.ts';
import { afterToken } from '../providers/page-token.ts';
import { anthropicModel, checkPage, MOST, pageOf, toldMore, wantsAnthropic } from './model-pages.ts';
import { aliasModel, type OwnModelsDeps, ownModels } from './own-models.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** As many models as a page may have. */
const ALL: ListModelsRequest = create(ListModelsRequestSchema, { limit: MOST });

/** Pages of a provider that are read, of up to 1,000 models each. */
const MOST_PAGES = 10;

/** The methods of ModelsService. */
export function modelsService(pipeline: Pipeline, own: OwnModelsDeps) {
  const listOwn = ({ principal, headers }: Call): ModelList => {
    const provider = headers.get('provider') ?? headers.get('virtual-key');
    const wanted = provider?.replace(/^@/, '');
    if (principal === undefined) return ownModels(own.models, [], []);
    const aliases = own.aliasesOf(principal).map(aliasModel);
    return ownModels(own.models, own.providersOf(principal), aliases, wanted);
  };
  /** The stored provider that answered the call. */
  const answeredBy = ({ principal, record }: Call): UsableProvider | undefined =>
    principal === undefined || record.virtualKey === undefined
      ? undefined
      : own.providersOf(principal).find(({ slug }) => slug === record.virtualKey);
  const listed = async (request: ListModelsRequest, call: Call): Promise<Listed> => {
    if (call.headers.get('fetch-integrated-models') === 'true') return { list: listOwn(call), own: true };
    const after = request.after ?? request.afterId;
    const { limit } = request;
    const asked = create(ListModelsRequestSchema, {
      ...(after === undefined ? {} : { after }),
      // Towards the beginning only the gateway pages.
      ...(limit === undefined || request.beforeId !== undefined ? {} : { limit }),
    });
    try {
      const first = await runWhole(pipeline, call, 'models', asked, undefined);
      const { models } = answeredBy(call) ?? {};
      const whole = await allPages(pipeline, call, first);
      if (whole !== undefined) return { list: allowed(whole, models), own: true };
      const list = first;
      if (models?.restricted !== true) return { list, own: false };
      // Pages of a provider count models that are left out here: those that are left get pages of their own.
      const told = toldMore(list);
      const isPart = told === true || (told === false && asked.after !== undefined);
      const all = isPart ? await runWhole(pipeline, call, 'models', ALL, undefined) : list;
      const data = all.data.filter(({ id }) => models.allows(id));
      if (toldMore(all) === true) return { list: create(ModelListSchema, { ...all, data }), own: false };
      return { list: create(ModelListSchema, { object: 'list', data }), own: true };
    } catch (error) {
      // Who selects nothing asks what there is to select.
      const nothing = error instanceof GatewayError && error.reason === 'provider_missing';
      if (nothing && selectsNothing(call)) return { list: listOwn(call), own: true };
      throw error;
    }
  };
  const found = async (request: GetModelRequest, call: Call): Promise<Model> => {
    const name = request.model;
    const alias =
      selectsNothing(call) && call.principal !== undefined
        ? own.aliasesOf(call.principal).find((one) => one.name === name)
        : undefined;
    if (alias !== undefined) return aliasModel(alias);
    const model = await runWhole(pipeline, call, 'model', request, name);
    const by = answeredBy(call);
    const plain = by !== undefined && name.startsWith(`@${by.slug}/`) ? name.slice(by.slug.length + 2) : name;
    if (by?.models?.restricted === true && !by.models.allows(plain))
      throw fail('not_found', 'model: there is no model of this name', { param: 'model' });
    return model;
  };
  return {
    async listModels(request: ListModelsRequest, call: Call): Promise<ModelList> {
      checkPage(request);
      const { list, own: isOwn } = await listed(request, call);
      return pageOf(list, request, wantsAnthropic(call), isOwn);
    },
    async getModel(request: GetModelRequest, call: Call): Promise<Model> {
      const model = await found(request, call);
      return wantsAnthropic(call) ? anthropicModel(model) : model;
    },
  };
}

/** The list of a provider that pages by tokens, whole; undefined: it does not. */
async function allPages(pipeline: Pipeline, call: Call, first: ModelList): Promise<ModelList | undefined> {
  const data: Model[] = [];
  let page = first;
  for (let pages = 1; ; pages++) {
    const token = page.extra?.next_page_token;
    if (typeof token !== 'string') return undefined;
    data.push(...page.data);
    if (token === '' || pages === MOST_PAGES) return create(ModelListSchema, { object: 'list', data });
    const next = create(ListModelsRequestSchema, { after: afterToken(token) });
    page = await runWhole(pipeline, call, 'models', next, undefined);
  }
}

/** Those that a restriction leaves. */
function allowed(list: ModelList, models: UsableProvider['models'] | undefined): ModelList {
  if (models?.restricted !== true) return list;
  return create(ModelListSchema, { ...list, data: list.data.filter(({ id }) => models.allows(id)) });
}

interface Listed {
  readonly list: ModelList;
  /** Whether it is the workspace's own, of its stored providers. */
  readonly own: boolean;
}

function selectsNothing({ headers }: Call): boolean {
  return ['provider', 'virtual-key', 'config', 'custom-host'].every(
    (name) => headers.get(name) === undefined,
  );
}
