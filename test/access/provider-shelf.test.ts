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

const US = { organisationId: 'o', workspaceId: 'w' };

function document<B extends object>(id: string, body: B, more: Partial<Document<B>> = {}): Document<B> {
  return {
    id,
    organisationId: 'o',
    slug: id,
    version: 1,
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

function shelfWith(now = () => 1000): ProviderReplica {
  const shelf = new ProviderReplica({ providerById, now });
  shelf.apply(integrations.name, integration());
  shelf.apply(storedProviders.name, stored());
  return shelf;
}

test('a slug is looked for in the caller’s own workspace only', (t) => {
  const shelf = shelfWith();
  t.is(shelf.resolve(US, 'p')?.apiKey, 'secret');
  t.is(shelf.resolve({ ...US, workspaceId: 'x' }, 'p'), undefined);
  t.is(shelf.resolve({ ...US, workspaceId: undefined }, 'p'), undefined);
  t.is(shelf.resolve({ ...US, organisationId: 'x' }, 'p'), undefined);
  t.is(shelf.resolve(US, 'q'), undefined);
  t.is(shelf.resolve(US, 'p'), shelf.resolve(US, 'p'), 'made once');
});

test('a changed integration counts for its providers', (t) => {
  const shelf = shelfWith();
  shelf.resolve(US, 'p');
  shelf.apply(integrations.name, integration({ key: 'another' }));
  t.is(shelf.resolve(US, 'p')?.apiKey, 'another');
  shelf.apply(
    integrations.name,
    integration({ workspaces: { w: { enabled: false, createdAt: 1, updatedAt: 1 } } }),
  );
  t.is(shelf.resolve(US, 'p')?.refused()?.reason, 'forbidden');
  t.is(shelf.resolve(US, 'p')?.apiKey, undefined, 'and the credential is not at hand');
  shelf.apply(integrations.name, integration({}, { status: 'archived' }));
  t.regex(shelf.resolve(US, 'p')?.refused()?.message ?? '', /archived/);
});

test('an archived provider is gone, and its slug free for another', (t) => {
  const shelf = shelfWith();
  shelf.apply(storedProviders.name, { ...stored({ name: 'second' }), id: 'p2', slug: 'p' });
  shelf.apply(storedProviders.name, stored({}, { status: 'archived', version: 2 }));
  t.is(shelf.resolve(US, 'p')?.id, 'p2', 'a late word of the first changes nothing');
  shelf.apply(storedProviders.name, { ...stored({}, { status: 'archived' }), id: 'p2', slug: 'p' });
  t.is(shelf.resolve(US, 'p'), undefined);
});

test('an expiry counts from its very moment', (t) => {
  let now = 1000;
  const shelf = shelfWith(() => now);
  shelf.apply(storedProviders.name, stored({ expiresAt: 2000 }));
  t.is(shelf.resolve(US, 'p')?.refused(), undefined);
  now = 2000;
  t.regex(shelf.resolve(US, 'p')?.refused()?.message ?? '', /expired at 1970-01-01T00:00:02/);
});

test('a credential that cannot be opened makes its provider unavailable, and nothing else', (t) => {
  const shelf = shelfWith();
  const unreadable = integration();
  Object.defineProperty(unreadable.body, 'key', {
    enumerable: true,
    get() {
      throw new Error('the secret key of integrations i cannot be read');
    },
  });
  shelf.apply(integrations.name, unreadable);
  const refused = shelf.resolve(US, 'p')?.refused();
  t.is(refused?.reason, 'store_unavailable');
  t.false(refused?.message.includes('secret key'));
});
