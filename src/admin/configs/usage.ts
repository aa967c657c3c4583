// What uses a config.

import type { Directory } from '../../access/directory.ts';
import { apiKeys } from '../../access/identity-collections.ts';
import type { ConfigCatalogue } from '../../configs/config-catalogue.ts';
import { type ConfigBody, modelAliases } from '../../configs/config-collections.ts';
import { fail } from '../../lib/errors.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';

const SHOWN = 100;

/** One thing that uses a config. */
export interface ConfigUser {
  readonly object: 'api-key' | 'workspace' | 'config' | 'model-alias';
  readonly id: string;
  readonly name: string;
}

/** What is asked. */
export interface UsageDeps {
  readonly documents: DocumentStore;
  readonly directory: Directory;
  readonly savedConfigs: ConfigCatalogue;
}

/** All that use it: how many, and of each kind the first hundred. */
export async function configUsage(
  { documents, directory, savedConfigs }: UsageDeps,
  { organisationId, workspaceId = '', id, slug = '' }: Document<ConfigBody>,
): Promise<{ readonly total: number; readonly users: readonly ConfigUser[] }> {
  const names = [id, slug];
  const keys = await documents.page({ organisationId, workspaceId }, apiKeys, {
    filter: [{ field: 'configId', op: 'in', value: names }],
    sort: { field: 'createdAt', order: 'desc' },
    pageSize: SHOWN,
  });
  const users: ConfigUser[] = keys.documents.map(({ id: keyId, body }) => ({
    object: 'api-key',
    id: keyId,
    name: body.name,
  }));
  const workspace = directory.workspace(organisationId, workspaceId);
  const start = workspace?.body.defaults?.user_api_key_config;
  const starts = typeof start === 'string' && names.includes(start);
  if (starts) users.push({ object: 'workspace', id: workspaceId, name: workspace?.body.name ?? '' });
  const aliases = await documents.page({ organisationId, workspaceId }, modelAliases, {
    filter: [{ field: 'configId', op: 'eq', value: id }],
    pageSize: SHOWN,
  });
  users.push(
    ...aliases.documents.map(({ id: aliasId, body }) => ({
      object: 'model-alias' as const,
      id: aliasId,
      name: body.name,
    })),
  );
  const referring = savedConfigs
    .referring({ organisationId, workspaceId }, 'config', names)
    .filter((one) => one.id !== id);
  users.push(
    ...referring
      .slice(0, SHOWN)
      .map(({ id: other, name }) => ({ object: 'config' as const, id: other, name })),
  );
  return { total: keys.total + (starts ? 1 : 0) + aliases.total + referring.length, users };
}

/** @throws GatewayError conflict when something uses it, naming the first of it. */
export async function refuseUsed(deps: UsageDeps, config: Document<ConfigBody>): Promise<void> {
  const { total, users } = await configUsage(deps, config);
  if (total === 0) return;
  const first = users
    .slice(0, 3)
    .map(({ object, id, name }) => `${object} ${name} (${id})`)
    .join(', ');
  throw fail('conflict', `the config is in use by ${first}${total > 3 ? ` and ${total - 3} more` : ''}`);
}
