// A partial as callers are shown it.
import { create } from '@bufbuild/protobuf';
import {
  type PromptPartial,
  PromptPartialSchema,
  type PromptPartialVersion,
  PromptPartialVersionSchema,
} from '../../../gen/gateway/admin/v2/prompt_partials_pb.ts';
import type { PartialBody, PartialVersionBody } from '../../prompts/prompt-collections.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { recordHead } from '../kit/record.ts';
import { timeText } from '../kit/time.ts';

/** What lists show of a partial. */
export function partialSummary(document: Document<PartialBody>): PromptPartial {
  const { slug = '', body } = document;
  const { name, collectionId } = body;
  return create(PromptPartialSchema, {
    ...recordHead(document),
    slug,
    name,
    collectionId,
    object: 'partial',
  });
}

/** A partial with the content of a version. */
export function partialRecord(
  document: Document<PartialBody>,
  { id, body }: Document<PartialVersionBody>,
): PromptPartial {
  return Object.assign(partialSummary(document), {
    string: body.string,
    version: body.number,
    versionDescription: body.description ?? '',
    promptPartialVersionId: id,
    promptPartialVersionStatus: statusOf(document, body.number),
  });
}

/** A version of a partial. */
export function partialVersionRecord(
  partial: Document<PartialBody>,
  { id, createdAt, body }: Document<PartialVersionBody>,
): PromptPartialVersion {
  return create(PromptPartialVersionSchema, {
    promptPartialId: partial.id,
    promptPartialVersionId: id,
    slug: partial.slug ?? '',
    version: body.number,
    string: body.string,
    description: body.description,
    createdAt: timeText(createdAt),
    promptVersionStatus: statusOf(partial, body.number),
    object: 'partial',
  });
}

/** What the audit log is told. */
export function partialShown(
  document: Document<PartialBody>,
  version: Document<PartialVersionBody>,
): JsonObject {
  return codec.encode(PromptPartialSchema, partialRecord(document, version)) as JsonObject;
}

function statusOf({ body }: Document<PartialBody>, number: number): string {
  return body.published === number ? 'active' : 'archived';
}
