// The environment's providers in the form of stored ones. They are in memory only: what is stored under the same slug goes
// before them, and they are gone when their variable is.
import { createHash } from 'node:crypto';
import type { EnvironmentProvider } from '../../providers/from-environment.ts';
import type { Document } from '../../store/documents.ts';
import type { Tenancy } from '../bootstrap.ts';
import { type ProviderBody, storedProviders } from './provider-collections.ts';

/** One for each, in the first workspace. @param at Unix milliseconds of the start */
export function environmentDocuments(
  providers: readonly EnvironmentProvider[],
  { organisationId, workspaceId }: Tenancy,
  at: number,
): Document<ProviderBody>[] {
  return providers.map(({ slug, name, providerId, variable, key, options, secretOptions }) => ({
    id: idOf(`${organisationId} ${slug}`),
    organisationId,
    workspaceId,
    slug,
    version: 1,
    status: 'active',
    schemaVersion: storedProviders.schemaVersion,
    createdAt: at,
    updatedAt: at,
    body: {
      name,
      note: `From ${sourceOf(variable)}`,
      aiProviderId: providerId,
      ...(key === undefined ? {} : { key }),
      configurations: options,
      secretConfigurations: secretOptions,
    },
  }));
}

/** What records are managed by. */
export function sourceOf(variable: string): string {
  return `the environment variable ${variable}`;
}

/** The same at every start. */
function idOf(text: string): string {
  const hex = createHash('sha256').update(`environment provider ${text}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
