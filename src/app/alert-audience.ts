// The recipients of budget alerts (admin-api facts, 4.4): the organisation's owners and admins, a key's owner and
// its alert_emails, a workspace's admins and managers.

import type { Directory } from '../access/directory.ts';
import { apiKeys, members, users, workspaces } from '../access/identity-collections.ts';
import { integrations, storedProviders } from '../access/providers/provider-collections.ts';
import type { TenantScope } from '../call/scope.ts';
import type { Audience, FindAudience, WebhookAddress } from '../ledger/alerts/audience.ts';
import { entityId } from '../ledger/limits/groups.ts';
import { usageLimitEntities, usageLimitPolicies } from '../ledger/policies.ts';
import type { Collection } from '../store/collection.ts';
import type { Condition, DocumentStore } from '../store/documents.ts';

/** What is asked. */
export interface AudienceDeps {
  readonly documents: DocumentStore;
  readonly directory: Directory;
  /** Makes findable which groups of policies were counted so far. */
  readonly flushGroups: () => Promise<void>;
}

/** Mails of one alert. */
const MOST_PEOPLE = 200;

/** Reads the recipients when an alert is sent, never during a call. */
export function audienceFinder({ documents, directory, flushGroups }: AudienceDeps): FindAudience {
  return async (organisationId, { budget }) => {
    const scope = { organisationId, workspaceId: undefined };
    if (budget.startsWith('p:')) await flushGroups();
    const { owner, emails } = await ownerOf(documents, scope, budget);
    const ofAll = await emailsOf(documents, scope, users, ['owner', 'admin']);
    const inWorkspace =
      owner.workspaceId === undefined || !(owner.type === 'workspace' || owner.type === 'policy')
        ? []
        : await emailsOf(documents, { organisationId, workspaceId: owner.workspaceId }, members, [
            'admin',
            'manager',
          ]);
    const all = [...emails, ...ofAll, ...inWorkspace].map((email) => email.toLowerCase());
    return {
      owner,
      emails: [...new Set(all)].slice(0, MOST_PEOPLE),
      webhook: webhookOf(directory, organisationId),
    };
  };
}

function webhookOf(directory: Directory, organisationId: string): WebhookAddress | undefined {
  const settings = directory.organisation(organisationId)?.body.settings;
  const { alert_webhook_url: url, alert_webhook_secret: secret } = settings ?? {};
  if (typeof url !== 'string' || url === '') return undefined;
  return { url, secret: typeof secret === 'string' && secret !== '' ? secret : undefined };
}

/** What a budget belongs to, by the name of its rule, and who has to do with that alone. */
async function ownerOf(
  documents: DocumentStore,
  scope: TenantScope,
  budget: string,
): Promise<Pick<Audience, 'owner' | 'emails'>> {
  const [kind = '', ...rest] = budget.split(':');
  if (kind === 'p') return { owner: await policyOf(documents, scope, rest), emails: [] };
  const [type = '', id = '', workspaceId] = rest;
  const archived = { archived: true };
  switch (type) {
    case 'key': {
      const key = await documents.get(scope, apiKeys, id, archived);
      const { name = '', userId, alertEmails = [] } = key?.body ?? {};
      const user = userId === undefined ? undefined : await documents.get(scope, users, userId);
      const emails = user === undefined ? alertEmails : [user.body.email, ...alertEmails];
      return { owner: { type: 'api_key', id, name, workspaceId: key?.workspaceId }, emails };
    }
    case 'ws': {
      const workspace = await documents.get(scope, workspaces, id, archived);
      const name = workspace?.body.name ?? '';
      return { owner: { type: 'workspace', id, name, workspaceId: id }, emails: [] };
    }
    case 'prov': {
      const found = await documents.get(scope, storedProviders, id, archived);
      const name = found?.body.name ?? '';
      return { owner: { type: 'provider', id, name, workspaceId: found?.workspaceId }, emails: [] };
    }
    case 'int': {
      const found = await documents.get(scope, integrations, id, archived);
      const name = found?.body.name ?? '';
      return { owner: { type: 'integration', id, name, workspaceId }, emails: [] };
    }
    default:
      return { owner: { type, id, name: '' }, emails: [] };
  }
}

async function policyOf(
  documents: DocumentStore,
  scope: TenantScope,
  [id = '', group = '']: readonly string[],
): Promise<Audience['owner']> {
  const policy = await documents.get(scope, usageLimitPolicies, id, { archived: true });
  const entity = await documents.get(scope, usageLimitEntities, entityId(id, group));
  return {
    type: 'policy',
    id,
    name: policy?.body.name ?? '',
    workspaceId: policy?.workspaceId,
    valueKey: entity?.body.valueKey,
  };
}

/** Emails of those with one of the roles. */
async function emailsOf(
  documents: DocumentStore,
  scope: TenantScope,
  collection: Collection<{ email: string }> | typeof users | typeof members,
  roles: readonly string[],
): Promise<readonly string[]> {
  const filter: Condition[] = [{ field: 'role', op: 'in', value: roles }];
  const page = await documents.page(scope, collection as Collection<{ email: string }>, {
    filter,
    pageSize: MOST_PEOPLE,
  });
  return page.documents.map(({ body }) => body.email);
}
