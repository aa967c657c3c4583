// An integration as callers are shown it: never its secrets.
import { create } from '@bufbuild/protobuf';
import {
  type Integration,
  IntegrationGlobalAccessSchema,
  IntegrationSchema,
  type IntegrationSummary,
  IntegrationSummarySchema,
  PricingAdjustmentsSchema,
} from '../../../gen/gateway/admin/v2/integrations_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { GlobalAccess, IntegrationBody } from '../../access/providers/provider-collections.ts';
import { accessOf } from '../../access/providers/workspace-access.ts';
import { codec } from '../../rest/codec.ts';
import type { Document } from '../../store/documents.ts';
import { rateLimitOf, usageLimitOf } from '../kit/limits.ts';
import { timeText } from '../kit/time.ts';
import { shownMappings } from '../secret-references/mappings.ts';
import { shownOptions } from './credentials.ts';
import { shownNetwork } from './network.ts';

/** As lists show it. */
export function integrationSummary(document: Document<IntegrationBody>): IntegrationSummary {
  return create(IntegrationSummarySchema, common(document));
}

/** As a get shows it. */
export function integrationRecord(directory: Directory, document: Document<IntegrationBody>): Integration {
  const { organisationId, body } = document;
  const workspaces = directory.workspaceIds(organisationId);
  return create(IntegrationSchema, {
    ...common(document),
    ...(body.keyMask === undefined ? {} : { maskedKey: body.keyMask }),
    configurations: shownOptions(body) as Record<string, never>,
    ...(body.globalAccess === undefined
      ? {}
      : { globalWorkspaceAccessSettings: globalAccessOf(body.globalAccess) }),
    allowAllModels: body.allowAllModels,
    workspaceCount: workspaces.filter((id) => accessOf(document, id).enabled).length,
    ownerId: body.ownerId,
    ...(body.pricingAdjustments === undefined
      ? {}
      : { pricingAdjustments: codec.decode(PricingAdjustmentsSchema, body.pricingAdjustments) }),
    allowConfigOverride: body.allowConfigOverride ?? false,
    secretMappings: shownMappings(body.secretMappings),
    ...(body.network === undefined ? {} : { network: shownNetwork(body.network) }),
  });
}

/** The access of workspaces that are not named. */
export function globalAccessOf({ enabled, usageLimits, rateLimits }: GlobalAccess) {
  return create(IntegrationGlobalAccessSchema, {
    enabled,
    usageLimits: (usageLimits ?? []).map((limit) => usageLimitOf(limit)),
    rateLimits: (rateLimits ?? []).map(rateLimitOf),
  });
}

function common({
  id,
  organisationId,
  workspaceId,
  slug,
  status,
  createdAt,
  updatedAt,
  body,
}: Document<IntegrationBody>) {
  return {
    id,
    organisationId,
    aiProviderId: body.aiProviderId,
    name: body.name,
    status,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    slug: slug ?? '',
    ...(body.description === undefined ? {} : { description: body.description }),
    ...(workspaceId === undefined ? {} : { workspaceId }),
    type: body.level,
    tags: { ...body.tags },
    object: 'integration',
  };
}
