// A secret reference as callers are shown it: never its credentials.
import { create } from '@bufbuild/protobuf';
import {
  type SecretReference,
  SecretReferenceSchema,
  type SecretReferenceSummary,
  SecretReferenceSummarySchema,
} from '../../../gen/gateway/admin/v2/secret_references_pb.ts';
import type { SecretReferenceDocument } from '../../secrets/references.ts';
import { timeText } from '../kit/time.ts';
import { shownAuth } from './auth.ts';

/** As lists show it. */
export function secretReferenceSummary(document: SecretReferenceDocument): SecretReferenceSummary {
  return create(SecretReferenceSummarySchema, common(document));
}

/** As a get shows it. */
export function secretReferenceRecord(document: SecretReferenceDocument): SecretReference {
  const { organisationId, body } = document;
  return create(SecretReferenceSchema, {
    ...common(document),
    organisationId,
    ...(body.description === undefined ? {} : { description: body.description }),
    // Credentials that cannot be opened are reported where they are read.
    authConfig: shownAuth(body.auth ?? {}) as Record<string, never>,
    secretPath: body.path,
    ...(body.key === undefined ? {} : { secretKey: body.key }),
    allowAllWorkspaces: body.workspaces === undefined,
    allowedWorkspaces: [...(body.workspaces ?? [])],
    allowedHosts: [...(body.hosts ?? [])],
    tags: { ...body.tags },
    createdBy: body.createdBy,
  });
}

function common({ id, slug, createdAt, updatedAt, body }: SecretReferenceDocument) {
  return {
    id,
    name: body.name,
    slug: slug ?? '',
    managerType: body.managerType,
    status: 'ACTIVE',
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    object: 'secret-reference',
  };
}
