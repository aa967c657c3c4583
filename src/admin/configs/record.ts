// A config as callers are shown it.
import { create } from '@bufbuild/protobuf';
import { type Config, ConfigSchema } from '../../../gen/gateway/admin/v2/configs_pb.ts';
import type { ConfigBody, ConfigVersionBody } from '../../configs/config-collections.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { masked } from '../kit/masked-secrets.ts';
import { recordHead } from '../kit/record.ts';
import { timeText } from '../kit/time.ts';

/** What lists show of a config. */
export function configSummary(document: Document<ConfigBody>): Config {
  const { organisationId, workspaceId = '', slug = '', body } = document;
  return create(ConfigSchema, {
    ...recordHead(document),
    name: body.name,
    workspaceId,
    slug,
    organisationId,
    isDefault: body.isDefault ? 1 : 0,
    ownerId: body.ownerId,
    updatedBy: body.updatedBy,
    object: 'config',
  });
}

/** A config with its content. */
export function configRecord(document: Document<ConfigBody>): Config {
  const { config, versionId } = document.body;
  return Object.assign(configSummary(document), contentMembers(config, versionId));
}

/** A version of a config. */
export function configVersionRecord(
  document: Document<ConfigBody>,
  { id, createdAt, body }: Document<ConfigVersionBody>,
): Config {
  return Object.assign(configSummary(document), contentMembers(body.config, id), {
    name: body.name,
    updatedBy: body.updatedBy,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(createdAt),
  });
}

/** The audit log's view: the content member by member. */
export function configShown(document: Document<ConfigBody>): JsonObject {
  const record = codec.encode(ConfigSchema, configRecord(document)) as JsonObject;
  return { ...record, config: masked(document.body.config) };
}

function contentMembers(config: JsonObject, versionId: string) {
  return { config: JSON.stringify(masked(config)), format: 'json', type: 'ORG_CONFIG', versionId };
}
