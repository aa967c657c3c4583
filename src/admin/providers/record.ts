// A stored provider as callers are shown it, in both views.
import { create } from '@bufbuild/protobuf';
import { type Provider, ProviderSchema } from '../../../gen/gateway/admin/v2/providers_pb.ts';
import { type VirtualKey, VirtualKeySchema } from '../../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import type { Directory } from '../../access/directory.ts';
import { providerCounter } from '../../access/providers/own-limits.ts';
import type { ProviderBody } from '../../access/providers/provider-collections.ts';
import type { Usage, UsageReader } from '../../ledger/limits/usage.ts';
import type { Document } from '../../store/documents.ts';
import { shownOptions } from '../integrations/credentials.ts';
import { rateLimitOf, usageLimitOf } from '../kit/limits.ts';
import { timeText } from '../kit/time.ts';
import { shownMappings } from '../secret-references/mappings.ts';

/** The usage of a stored provider's budget; undefined: it has none, or the usage is unknown. */
export async function providerUsage(
  reader: UsageReader,
  { id, organisationId, body }: Document<ProviderBody>,
): Promise<Usage | undefined> {
  const { usageLimits, usageResetAt } = body;
  return usageLimits && reader.readLimit(organisationId, providerCounter(id), usageLimits, usageResetAt);
}

/** As /providers shows it. @param at Unix milliseconds: what has passed shows. */
export function providerRecord(document: Document<ProviderBody>, at: number, usage?: Usage): Provider {
  return create(ProviderSchema, {
    ...common(document, at, usage),
    aiProviderName: document.body.aiProviderId,
    object: 'provider',
  });
}

/** As /virtual-keys shows it. @param at Unix milliseconds. */
export function virtualKeyRecord(
  directory: Directory,
  document: Document<ProviderBody>,
  at: number,
  usage?: Usage,
): VirtualKey {
  const { organisationId, workspaceId = '', body } = document;
  return create(VirtualKeySchema, {
    ...common(document, at, usage),
    workspaceName: directory.workspace(organisationId, workspaceId)?.body.name ?? '',
    provider: body.aiProviderId,
    aiProviderName: body.aiProviderId,
    modelConfig: shownOptions(body) as Record<string, never>,
    key: '',
    secretMappings: shownMappings(body.secretMappings),
    ...(body.keyMask === undefined ? {} : { maskedApiKey: body.keyMask }),
    object: 'virtual-key',
  });
}

function common(document: Document<ProviderBody>, at: number, usage: Usage | undefined) {
  const { id, organisationId, workspaceId = '', slug = '', createdAt, updatedAt, body } = document;
  const { usageLimits, expiresAt } = body;
  const usageResetAt = usage === undefined ? body.usageResetAt : usage.lastResetAt;
  const expired = expiresAt !== undefined && expiresAt <= at;
  return {
    id,
    slug,
    name: body.name,
    organisationId,
    workspaceId,
    ...(body.integrationId === undefined ? {} : { integrationId: body.integrationId }),
    ...(body.note === undefined ? {} : { note: body.note }),
    status: expired ? 'expired' : usage?.exhausted ? 'exhausted' : 'active',
    ...(usageLimits === undefined ? {} : { usageLimits: usageLimitOf(usageLimits, usage) }),
    rateLimits: (body.rateLimits ?? []).map(rateLimitOf),
    ...(expiresAt === undefined ? {} : { expiresAt: timeText(expiresAt) }),
    ...(usageResetAt === undefined ? {} : { lastResetAt: timeText(usageResetAt) }),
    tags: { ...body.tags },
    ...(body.rawPaths === undefined ? {} : { rawPaths: body.rawPaths }),
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  };
}
