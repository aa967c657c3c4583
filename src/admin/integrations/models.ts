// Which models an integration is for: enabled, disabled and custom ones.
import { create } from '@bufbuild/protobuf';
import {
  type DeleteIntegrationModelsRequest,
  type IntegrationModel,
  type IntegrationModelList,
  IntegrationModelListSchema,
  IntegrationModelSchema,
  ModelPricingConfigSchema,
  type UpdateIntegrationModelsRequest,
} from '../../../gen/gateway/admin/v2/integrations_pb.ts';
import type { IntegrationBody, ModelEntry } from '../../access/providers/provider-collections.ts';
import { headersFaults } from '../../access/providers/read-option.ts';
import { fail, invalidField, validationFailed } from '../../lib/errors.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import { defined } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';
import { type CredentialDeps, maskedHeaders } from './credentials.ts';

const MOST_MODELS = 2000;
const MOST_NAMED = 1000;

/** What callers are shown of an integration's models. */
export function modelList({ models = [], allowAllModels }: IntegrationBody): IntegrationModelList {
  return create(IntegrationModelListSchema, {
    total: BigInt(models.length),
    models: models.map(shown),
    allowAllModels,
    object: 'integration',
  });
}

function shown(entry: ModelEntry): IntegrationModel {
  const { customHost, headerMasks, pricingConfig } = entry;
  return create(IntegrationModelSchema, {
    slug: entry.slug,
    name: entry.slug,
    enabled: entry.enabled,
    isCustom: entry.isCustom ?? false,
    isFinetune: entry.isFinetune ?? false,
    ...(entry.baseModelSlug === undefined ? {} : { baseModelSlug: entry.baseModelSlug }),
    ...(customHost === undefined && headerMasks === undefined
      ? {}
      : {
          configurations: {
            ...(customHost === undefined ? {} : { customHost }),
            customHeaders: { ...headerMasks },
          },
        }),
    ...(pricingConfig === undefined
      ? {}
      : { pricingConfig: codec.decode(ModelPricingConfigSchema, pricingConfig) }),
    createdAt: timeText(entry.createdAt),
    lastUpdatedAt: timeText(entry.updatedAt),
  });
}

/** The body with the call's models. @param at Unix milliseconds @throws GatewayError validation_failed, host_refused */
export function withModels(
  deps: CredentialDeps,
  { localPort }: ProviderEntry,
  body: IntegrationBody,
  request: UpdateIntegrationModelsRequest,
  at: number,
): IntegrationBody {
  if (request.models.length === 0 && request.allowAllModels === undefined)
    throw invalidField('models', 'name at least one, or give allow_all_models', 'required');
  const models = new Map((body.models ?? []).map((entry) => [entry.slug, entry]));
  const named = new Set<string>();
  const check: CheckHost = (url, param) => deps.checkHost(url, param, localPort);
  for (const [i, model] of request.models.entries()) {
    const field = `models[${i}]`;
    if (named.has(model.slug)) throw invalidField(`${field}.slug`, 'is named twice');
    named.add(model.slug);
    models.set(model.slug, entryOf(check, models.get(model.slug), model, field, at));
  }
  if (models.size > MOST_MODELS) throw invalidField('models', `must be ${MOST_MODELS} at the most`);
  return replaced(body, [...models.values()], request.allowAllModels ?? body.allowAllModels);
}

/** The body without custom models that are named; others are disabled. @throws GatewayError validation_failed, not_found. */
export function withoutModels(
  body: IntegrationBody,
  { slugs, models: listed }: DeleteIntegrationModelsRequest,
  at: number,
): IntegrationBody {
  const named = new Set(
    [...(slugs?.split(',').map((slug) => slug.trim()) ?? []), ...listed].filter((s) => s !== ''),
  );
  if (named.size === 0) throw invalidField('slugs', 'must name at least one model', 'required');
  if (named.size > MOST_NAMED) throw invalidField('slugs', `must be ${MOST_NAMED} models at the most`);
  const models = body.models ?? [];
  for (const slug of named) {
    if (!models.some((entry) => entry.slug === slug))
      throw fail('not_found', `the integration says nothing of a model ${slug.slice(0, 255)}`);
  }
  const left = models.flatMap((entry) => {
    if (!named.has(entry.slug)) return [entry];
    return entry.isCustom ? [] : [{ ...entry, enabled: false, updatedAt: at }];
  });
  return replaced(body, left, body.allowAllModels);
}

/**
 * No credential that another caller gave goes to a new host of a model: it cannot be given again with a model.
 * @throws GatewayError forbidden.
 */
export function checkModelHosts(before: IntegrationBody, after: IntegrationBody): void {
  if (after.keyMask === undefined && after.secretMasks === undefined) return;
  const known = new Set(before.models?.map(({ slug, customHost }) => `${slug} ${customHost}`));
  const model = after.models?.find(
    ({ slug, customHost }) => customHost !== undefined && !known.has(`${slug} ${customHost}`),
  );
  if (model === undefined) return;
  const field = `models.${model.slug}.configurations.custom_host`;
  throw fail(
    'forbidden',
    `${field}: the integration has a credential, and who sends it to another host takes an owner or admin of the ` +
      'organisation, or its key: make an integration with this host and its own credential',
    { param: field },
  );
}

function replaced(
  body: IntegrationBody,
  models: readonly ModelEntry[],
  allowAllModels: boolean,
): IntegrationBody {
  const sorted = [...models].sort((a, b) => (a.slug < b.slug ? -1 : 1));
  return defined<IntegrationBody>({
    ...body,
    allowAllModels,
    models: sorted.length > 0 ? sorted : undefined,
  });
}

type CheckHost = (url: string, param: string) => void;

function entryOf(
  checkHost: CheckHost,
  before: ModelEntry | undefined,
  model: IntegrationModel,
  field: string,
  at: number,
): ModelEntry {
  const { configurations: given, pricingConfig } = model;
  const at_ = `${field}.configurations`;
  if (given?.customHost !== undefined) checkHost(given.customHost, `${at_}.custom_host`);
  const reach =
    given === undefined
      ? before
      : { customHost: given.customHost, ...headersOf(before, given.customHeaders, at_) };
  return defined<ModelEntry>({
    slug: model.slug,
    enabled: model.enabled ?? true,
    isCustom: (model.isCustom ?? before?.isCustom) ? true : undefined,
    isFinetune: (model.isFinetune ?? before?.isFinetune) ? true : undefined,
    baseModelSlug: model.baseModelSlug ?? before?.baseModelSlug,
    customHost: reach?.customHost,
    customHeaders: reach?.customHeaders,
    headerMasks: reach?.headerMasks,
    pricingConfig:
      pricingConfig === undefined
        ? before?.pricingConfig
        : (codec.encode(ModelPricingConfigSchema, pricingConfig) as JsonObject),
    createdAt: before?.createdAt ?? at,
    updatedAt: at,
  });
}

/** A header that comes as it was shown stays as it is. @throws GatewayError validation_failed */
function headersOf(
  before: ModelEntry | undefined,
  given: Readonly<Record<string, string>>,
  field: string,
): Pick<ModelEntry, 'customHeaders' | 'headerMasks'> {
  if (Object.keys(given).length === 0) return {};
  const headers = Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const same = before?.headerMasks?.[name] === value;
      return [name, (same ? before?.customHeaders?.[name] : undefined) ?? value];
    }),
  );
  const faults = headersFaults(headers);
  if (faults.length > 0)
    throw validationFailed(
      faults.map(({ path, message }) => ({
        field: `${field}.custom_headers.${path}`,
        rule: 'header',
        message,
      })),
    );
  return { customHeaders: headers, headerMasks: maskedHeaders(headers) };
}
