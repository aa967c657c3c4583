// Models that a call's own workspace may use: those of its stored providers, as integrations let them through and the
// catalogue knows them. No provider is called.
import { create } from '@bufbuild/protobuf';
import {
  type Model,
  type ModelList,
  ModelListSchema,
  ModelSchema,
} from '../../gen/gateway/inference/v2/models_pb.ts';
import type { UsableProvider } from '../access/providers/usable-provider.ts';
import type { ModelCatalogue } from '../providers/catalog/models.ts';

/** Whose models are listed. */
interface Tenant {
  readonly organisationId: string;
  readonly workspaceId: string | undefined;
}

/** What listing needs. */
export interface OwnModelsDeps {
  readonly models: ModelCatalogue;
  /** Stored providers of a workspace. */
  readonly providersOf: (tenant: Tenant) => readonly UsableProvider[];
  /** Model aliases of a workspace, by name. */
  readonly aliasesOf: (tenant: Tenant) => readonly { readonly name: string; readonly createdAt: number }[];
}

/**
 * All of them, each named as calls name it: aliases, then `@slug/model`.
 * @param wanted the stored provider whose models alone are listed; undefined: all
 */
export function ownModels(
  catalogue: ModelCatalogue,
  providers: readonly UsableProvider[],
  aliases: readonly Model[],
  wanted?: string,
): ModelList {
  const own = providers
    .filter((provider) => (wanted === undefined || provider.slug === wanted) && !provider.refused())
    .flatMap((provider) => modelsOf(catalogue, provider));
  return create(ModelListSchema, {
    object: 'list',
    data: [...(wanted === undefined ? aliases : []), ...own],
  });
}

/** A model alias as a model. @param createdAt Unix milliseconds */
export function aliasModel({
  name,
  createdAt,
}: {
  readonly name: string;
  readonly createdAt: number;
}): Model {
  const created = BigInt(Math.floor(createdAt / 1000));
  return create(ModelSchema, { id: name, object: 'model', created, ownedBy: 'model-alias', provider: '' });
}

/** A deployment is asked for by its alias, or by the model that it serves. */
function modelsOf(catalogue: ModelCatalogue, { slug, entry, models, deployments }: UsableProvider): Model[] {
  const served = deployments.flatMap(({ alias, model, id }) => alias ?? model ?? id);
  const named = models?.named ?? [];
  const known = served.length > 0 ? served : catalogue.modelsOf(entry.id);
  return [...new Set([...named, ...known])]
    .filter((model) => models?.allows(model) ?? true)
    .sort()
    .map((model) => {
      const { can = [], context, output } = catalogue.find(entry.id, model) ?? {};
      return create(ModelSchema, {
        id: `@${slug}/${model}`,
        object: 'model',
        created: 0n,
        ownedBy: entry.id,
        provider: entry.id,
        capabilities: [...can],
        ...(context === undefined ? {} : { contextWindow: context }),
        ...(output === undefined ? {} : { maxOutputTokens: output }),
      });
    });
}
