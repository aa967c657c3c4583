// The stored provider that an integration comes with in a workspace.
import { randomBytes, randomUUID } from 'node:crypto';
import {
  type IntegrationBody,
  type ProviderBody,
  storedProviders,
} from '../../access/providers/provider-collections.ts';
import type { Document, NewDocument, WriteOperation } from '../../store/documents.ts';
import { insertOperation } from '../../store/documents.ts';

const NOTE = 'Created automatically with the integration';
const SLUG = 255;

/** Makes it. @param slug the requested one, or the integration's own. @param at Unix milliseconds */
export function defaultProvider(
  { id, body }: Pick<Document<IntegrationBody>, 'id' | 'body'>,
  workspaceId: string,
  slug: string,
  at: number,
): WriteOperation {
  const document: NewDocument<ProviderBody> = {
    id: randomUUID(),
    workspaceId,
    slug,
    createdAt: at,
    body: { name: body.name, note: NOTE, aiProviderId: body.aiProviderId, integrationId: id },
  };
  return insertOperation(storedProviders, document);
}

/** The slug, or a similar one where it is taken. */
export function freeSlug(slug: string, isTaken: (slug: string) => boolean): string {
  return isTaken(slug) ? `${slug.slice(0, SLUG - 7)}-${randomBytes(3).toString('hex')}` : slug;
}
