// A workspace as callers are shown it.
import { create } from '@bufbuild/protobuf';
import {
  type Workspace,
  WorkspaceDefaultsSchema,
  WorkspaceSchema,
  WorkspaceSettingsSchema,
} from '../../../gen/gateway/admin/v2/workspaces_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { WorkspaceBody } from '../../access/identity-collections.ts';
import type { Usage, UsageReader } from '../../ledger/limits/usage.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { rateLimitOf, usageLimitOf } from '../kit/limits.ts';
import { timeText } from '../kit/time.ts';

/** The usage of a workspace's budgets, in their order. */
export function workspaceUsage(
  reader: UsageReader,
  { id, organisationId, body }: Document<WorkspaceBody>,
): Promise<readonly (Usage | undefined)[]> {
  const read = (limit: JsonObject, place: number): Promise<Usage | undefined> =>
    reader.readLimit(organisationId, `ws:${id}`, limit, undefined, place);
  return Promise.all((body.usageLimits ?? []).map(read));
}

/** What callers are shown of a workspace. @param usage of its budgets, in their order */
export function workspaceRecord(
  directory: Directory,
  document: Document<WorkspaceBody>,
  usage: readonly (Usage | undefined)[] = [],
): Workspace {
  const { id, organisationId, slug, status, createdAt, updatedAt, body } = document;
  return create(WorkspaceSchema, {
    id,
    slug: slug ?? '',
    name: body.name,
    ...(body.icon === undefined ? {} : { icon: body.icon }),
    ...(body.description === undefined ? {} : { description: body.description }),
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    ...(body.defaults ? { defaults: codec.decode(WorkspaceDefaultsSchema, body.defaults) } : {}),
    isDefault: body.isDefault ? 1 : 0,
    usageLimits: (body.usageLimits ?? []).map((limit, i) => usageLimitOf(limit, usage[i])),
    rateLimits: (body.rateLimits ?? []).map(rateLimitOf),
    securitySettings: directory.settings(organisationId, body.securitySettings),
    status,
    object: 'workspace',
    organisationId,
    ...(body.settings ? { settings: codec.decode(WorkspaceSettingsSchema, body.settings) } : {}),
  });
}
