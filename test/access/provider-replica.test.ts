// The shelf: what a slug stands for, for whom, and what becomes of it.

import test from 'ava';
import {
  type IntegrationBody,
  integrations,
  type ProviderBody,
  storedProviders,
} from '../../src/access/providers/provider-collections.ts';
import { ProviderReplica } from '../../src/access/providers/provider-replica.ts';
import { providerById } from '../../src/providers/catalog/registry.ts';
import type { Document } from '../../src/store/documents.ts';
import { applyDocument } from '../support/apply-document.ts';

/** Each document is newer than the one before. */
let version = 0;

const US = { organisationId: 'o', workspaceId: 'w' };

function document<B extends object>(id: string, body: B, more: Partial<Document<B>> = {}): Document<B> {
  return {
    id,
    organisationId: 'o',
    slug: id,
    version: ++version,
    status: 'active',
    createdAt: 1,
    updatedAt: 1,
    schemaVersion: 1,
    body,
    ...more,
  };
}

const integration = (body: Partial<IntegrationBody> = {}, more: Partial<Document<IntegrationBody>> = {}) =>
  document<IntegrationBody>(
    'i',
    {
      name: 'i',
      aiProviderId: 'openai',
      level: 'organisation',
      ownerId: 'k',
      allowAllModels: true,
      key: 'secret',
      globalAccess: { enabled: true },
      ...body,
    },
    more,
  );
const stored = (body: Partial<ProviderBody> = {}, more: Partial<Document<ProviderBody>> = {}) =>
  document<ProviderBody>(
    'p',
    { name: 'p', aiProviderId: 'openai', integrationId: 'i', ...body },
    { workspaceId: 'w', ...more },
  );

function replicaWith(now = () => 1000): ProviderReplica {
  const replica = new ProviderReplica({ providerById, now });
  applyDocument(replica, integrations.name, integration());
  applyDocument(replica, storedProviders.name, stored());
  return replica;
}

test('a slug is looked for in the caller’s own workspace only', (t) => {
  const replica = replicaWith();
  t.is(replica.resolve(US, 'p')?.apiKey, 'secret');
  t.is(replica.resolve({ ...US, workspaceId: 'x' }, 'p'), undefined);
  t.is(replica.resolve({ ...US, workspaceId: undefined }, 'p'), undefined);
  t.is(replica.resolve({ ...US, organisationId: 'x' }, 'p'), undefined);
  t.is(replica.resolve(US, 'q'), undefined);
  t.is(replica.resolve(US, 'p'), replica.resolve(US, 'p'), 'made once');
});

test('a changed integration counts for its providers', (t) => {
  const replica = replicaWith();
  replica.resolve(US, 'p');
  applyDocument(replica, integrations.name, integration({ key: 'another' }));
  t.is(replica.resolve(US, 'p')?.apiKey, 'another');
  applyDocument(
    replica,
    integrations.name,
    integration({ workspaces: { w: { enabled: false, createdAt: 1, updatedAt: 1 } } }),
  );
  t.is(replica.resolve(US, 'p')?.refused()?.reason, 'forbidden');
  t.is(replica.resolve(US, 'p')?.apiKey, undefined, 'and the credential is not at hand');
  applyDocument(replica, integrations.name, integration({}, { status: 'archived' }));
  t.regex(replica.resolve(US, 'p')?.refused()?.message ?? '', /archived/);
});

test('an archived provider is gone, and its slug free for another', (t) => {
  const replica = replicaWith();
  applyDocument(replica, storedProviders.name, { ...stored({ name: 'second' }), id: 'p2', slug: 'p' });
  applyDocument(replica, storedProviders.name, stored({}, { status: 'archived' }));
  t.is(replica.resolve(US, 'p')?.id, 'p2', 'a late word of the first changes nothing');
  applyDocument(replica, storedProviders.name, {
    ...stored({}, { status: 'archived' }),
    id: 'p2',
    slug: 'p',
  });
  t.is(replica.resolve(US, 'p'), undefined);
});

test('an expiry counts from its very moment', (t) => {
  let now = 1000;
  const replica = replicaWith(() => now);
  applyDocument(replica, storedProviders.name, stored({ expiresAt: 2000 }));
  t.is(replica.resolve(US, 'p')?.refused(), undefined);
  now = 2000;
  t.regex(replica.resolve(US, 'p')?.refused()?.message ?? '', /expired at 1970-01-01T00:00:02/);
});

test('a credential that cannot be opened makes its provider unavailable, and nothing else', (t) => {
  const replica = replicaWith();
  const unreadable = integration();
  Object.defineProperty(unreadable.body, 'key', {
    enumerable: true,
    get() {
      throw new Error('the secret key of integrations i cannot be read');
    },
  });
  applyDocument(replica, integrations.name, unreadable);
  const refused = replica.resolve(US, 'p')?.refused();
  t.is(refused?.reason, 'store_unavailable');
  t.false(refused?.message.includes('secret key'));
});
