// An integration's body, made of what callers ask for.
import {
  type CreateIntegrationRequest,
  type PricingAdjustments,
  PricingAdjustmentsSchema,
  type UpdateIntegrationRequest,
} from '../../../gen/gateway/admin/v2/integrations_pb.ts';
import type { IntegrationBody } from '../../access/providers/provider-collections.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { defined, patch } from '../kit/patch.ts';
import { changedTags, tagged } from '../kit/tags.ts';
import { type MappingDeps, type MappingPlace, readMappings } from '../secret-references/mappings.ts';
import type { IntegrationLevel } from './access.ts';
import { checkGivenAgain } from './credential-checks.ts';
import { type CredentialDeps, changedCredentials, newCredentials } from './credentials.ts';
import { changedNetwork, newOnTheWay } from './network.ts';

const GROUP = 'configurations';
/** The field of an option, for refusals. */
export const optionField = (option: string): string => `${GROUP}.${option}`;

/** The body of an integration to be. @throws GatewayError validation_failed, host_refused. */
export function newIntegrationBody(
  deps: CredentialDeps & MappingDeps,
  entry: ProviderEntry,
  level: IntegrationLevel,
  place: Omit<MappingPlace, 'group'>,
  ownerId: string,
  request: CreateIntegrationRequest,
): IntegrationBody {
  const { key, configurations } = request;
  const mappings = readMappings(deps, entry, request.secretMappings, { ...place, group: GROUP });
  return defined<IntegrationBody>({
    name: request.name,
    description: request.description,
    aiProviderId: entry.id,
    level,
    ownerId,
    ...newCredentials(
      deps,
      entry,
      { key, options: configurations as JsonObject | undefined, mappings },
      optionField,
    ),
    ...tagged(request.tags),
    pricingAdjustments: request.pricingAdjustments && adjustments(request.pricingAdjustments),
    network: changedNetwork(deps, undefined, request.network),
    allowConfigOverride: request.allowConfigOverride ? true : undefined,
    allowAllModels: true,
  });
}

const CLEARABLE = [
  'key',
  'description',
  'configurations',
  'pricing_adjustments',
  'tags',
  'secret_mappings',
  'network',
];

/** The body after an update. @throws GatewayError validation_failed, host_refused. */
export function changedIntegrationBody(
  deps: CredentialDeps & MappingDeps,
  entry: ProviderEntry,
  { organisationId, workspaceId, body }: Document<IntegrationBody>,
  request: UpdateIntegrationRequest,
): IntegrationBody {
  const fields = patch(request.clear, CLEARABLE);
  const place = { organisationId, workspaceId, group: GROUP };
  const mappings = readMappings(deps, entry, request.secretMappings, place);
  const credentials = changedCredentials(
    deps,
    entry,
    body,
    {
      key: request.key,
      options: request.configurations as JsonObject | undefined,
      clearKey: fields.cleared('key'),
      clearOptions: fields.cleared('configurations'),
      mappings: mappings.length > 0 ? mappings : undefined,
      clearMappings: fields.cleared('secret_mappings'),
      merges: false,
    },
    optionField,
  );
  const network = changedNetwork(deps, fields.cleared('network') ? undefined : body.network, request.network);
  const somebody = newOnTheWay(body.network, network);
  if (somebody !== undefined) {
    const why = `${somebody} lets somebody new on its way`;
    const again = { key: request.key !== undefined, options: (request.configurations ?? {}) as JsonObject };
    checkGivenAgain(credentials, { ...again, mappings: mappings.length > 0 }, optionField, why);
  }
  const { allowConfigOverride: override = body.allowConfigOverride } = request;
  return defined<IntegrationBody>({
    name: fields.always('name', request.name, body.name),
    description: fields.optional('description', request.description, body.description),
    aiProviderId: body.aiProviderId,
    level: body.level,
    ownerId: body.ownerId,
    ...credentials,
    ...changedTags(body, request.tags, fields.cleared('tags')),
    pricingAdjustments: fields.optional(
      'pricing_adjustments',
      request.pricingAdjustments && adjustments(request.pricingAdjustments),
      body.pricingAdjustments,
    ),
    network,
    allowConfigOverride: override ? true : undefined,
    allowAllModels: body.allowAllModels,
    models: body.models,
    workspaces: body.workspaces,
    globalAccess: body.globalAccess,
  });
}

function adjustments(given: PricingAdjustments): JsonObject {
  return codec.encode(PricingAdjustmentsSchema, given) as JsonObject;
}
