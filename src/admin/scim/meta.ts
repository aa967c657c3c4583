// The metadata of a resource (RFC 7643, part 3.1).
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { timeText } from '../kit/time.ts';
import type { ScimDeps } from './deps.ts';
import type { ResourceKind } from './schemas.ts';

export function metaOf(
  { publicUrl }: Pick<ScimDeps, 'publicUrl'>,
  { name, endpoint }: ResourceKind,
  { id, createdAt, updatedAt, version }: Document<object>,
): JsonObject {
  return {
    resourceType: name,
    created: timeText(createdAt),
    lastModified: timeText(updatedAt),
    location: `${publicUrl()}/scim/v2${endpoint}/${id}`,
    version: etagOf(version),
  };
}

/** A weak tag: the text of an answer also depends on what was asked for. */
export function etagOf(version: number): string {
  return `W/"${version}"`;
}
