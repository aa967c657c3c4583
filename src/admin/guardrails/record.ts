// A guardrail as callers are shown it.
import { create } from '@bufbuild/protobuf';
import {
  type Guardrail,
  GuardrailCheckSchema,
  GuardrailSchema,
} from '../../../gen/gateway/admin/v2/guardrails_pb.ts';
import type {
  GuardrailBody,
  GuardrailContent,
  GuardrailVersionBody,
} from '../../configs/config-collections.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { masked } from '../kit/masked-secrets.ts';
import { recordHead } from '../kit/record.ts';
import { timeText } from '../kit/time.ts';

/** What lists show of a guardrail. */
export function guardrailSummary(document: Document<GuardrailBody>): Guardrail {
  const { organisationId, workspaceId, slug = '', body } = document;
  return create(GuardrailSchema, {
    ...recordHead(document),
    name: body.name,
    slug,
    organisationId,
    workspaceId,
    ownerId: body.ownerId,
    updatedBy: body.updatedBy,
    object: 'guardrail',
  });
}

/** A guardrail with its checks and actions. */
export function guardrailRecord(document: Document<GuardrailBody>): Guardrail {
  return Object.assign(guardrailSummary(document), contentMembers(document.body, document.body.versionId));
}

/** A version of a guardrail. */
export function guardrailVersionRecord(
  document: Document<GuardrailBody>,
  { id, createdAt, body }: Document<GuardrailVersionBody>,
): Guardrail {
  return Object.assign(guardrailSummary(document), contentMembers(body, id), {
    name: body.name,
    updatedBy: body.updatedBy,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(createdAt),
  });
}

/** What the audit log is told. */
export function guardrailShown(document: Document<GuardrailBody>): JsonObject {
  return codec.encode(GuardrailSchema, guardrailRecord(document)) as JsonObject;
}

function contentMembers({ checks, actions }: GuardrailContent, versionId: string) {
  const shown = masked({ checks, actions }) as unknown as GuardrailContent;
  return {
    checks: shown.checks.map((check) => codec.decode(GuardrailCheckSchema, check)),
    actions: shown.actions,
    versionId,
  } as Pick<Guardrail, 'checks' | 'actions' | 'versionId'>;
}
