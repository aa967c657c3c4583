// A workspace as callers are shown it.
import { create } from '@bufbuild/protobuf';
import {
  type Workspace,
  WorkspaceDefaultsSchema,
  WorkspaceSchema,
  WorkspaceSettingsSchema,
} from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import type { WorkspaceBody } from '../access/collections.ts';
import type { Directory } from '../access/directory.ts';
import { codec } from '../rest/codec.ts';
import type { Document } from '../store/documents.ts';
import { rateLimitOf, usageLimitOf } from './limits.ts';
import { timeText } from './time.ts';

/** What callers are shown of a workspace. */
export function workspaceRecord(directory: Directory, document: Document<WorkspaceBody>): Workspace {
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
    usageLimits: (body.usageLimits ?? []).map(usageLimitOf),
    rateLimits: (body.rateLimits ?? []).map(rateLimitOf),
    securitySettings: directory.settings(organisationId, body.securitySettings),
    status,
    object: 'workspace',
    organisationId,
    ...(body.settings ? { settings: codec.decode(WorkspaceSettingsSchema, body.settings) } : {}),
  });
}
