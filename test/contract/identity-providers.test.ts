// Identity providers of an organisation, over every protocol.
import test from 'ava';
import { AuditLogsService } from '../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { IdentityProvidersService } from '../../gen/gateway/admin/v2/identity_providers_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { FOREIGN, forbidden, fresh, gone, invalid, openStories, runRefused } from './identity-stories.ts';
import type { JsonObject } from './runner.ts';

const { createIdentityProvider, getIdentityProvider, listIdentityProviders } =
  IdentityProvidersService.method;
const { updateIdentityProvider, deleteIdentityProvider } = IdentityProvidersService.method;
const { bench, story } = openStories(test);

const SECRET = 'a-client-secret-0123456789';
const newOne = (given: JsonObject = {}): JsonObject => ({
  name: 'Entra ID',
  slug: fresh('entra'),
  issuer: 'https://login.idp.test/tenant',
  client_id: 'client',
  client_secret: SECRET,
  ...given,
});

const { client_secret: _, ...WITHOUT } = newOne();

story('an identity provider is made, shown without its secret, changed and deleted', async (t, admin) => {
  const made = await admin.ok(createIdentityProvider, newOne());
  t.like(made, { accounts: 'invited', groups_claim: 'groups', is_enabled: true, client_id: 'client' });
  const id = String(made.id);
  t.deepEqual(await admin.ok(getIdentityProvider, { identity_provider_id: String(made.slug) }), made);
  const list = (await admin.ok(listIdentityProviders)).data as JsonObject[];
  t.deepEqual(
    list.find((one) => one.id === id),
    made,
  );
  const changed = await admin.ok(updateIdentityProvider, {
    identity_provider_id: id,
    accounts: 'first_sight',
    sign_out: 'gateway',
    email_domains: ['Example.com'],
    client_secret: String(made.client_secret),
  });
  t.is(made.sign_out, 'provider');
  t.like(changed, {
    accounts: 'first_sight',
    sign_out: 'gateway',
    email_domains: ['example.com'],
    name: 'Entra ID',
  });
  t.is(changed.client_secret, made.client_secret, 'a masked secret that is sent back stays');
  const moved = { identity_provider_id: id, issuer: 'https://elsewhere.test' };
  await admin.refused(t, updateIdentityProvider, moved, 400);
  await admin.ok(updateIdentityProvider, { ...moved, client_secret: `${SECRET}-new` });
  await admin.ok(deleteIdentityProvider, { identity_provider_id: id });
  await admin.refused(t, getIdentityProvider, { identity_provider_id: id }, 404);
  const audit = JSON.stringify(await admin.ok(AuditLogsService.method.listAuditLogs));
  t.true(audit.includes('identity-provider'));
  t.false(audit.includes(SECRET));
});

runRefused(test, bench, [
  ['a name of blanks', createIdentityProvider, newOne({ name: ' ' }), invalid('name')],
  ['an issuer without TLS', createIdentityProvider, newOne({ issuer: 'http://idp.test' }), invalid('issuer')],
  [
    'an issuer with a query',
    createIdentityProvider,
    newOne({ issuer: 'https://idp.test/?a=b' }),
    invalid('issuer'),
  ],
  ['scopes without openid', createIdentityProvider, newOne({ scopes: 'email profile' }), invalid('scopes')],
  ['accounts of another kind', createIdentityProvider, newOne({ accounts: 'all' }), invalid('accounts')],
  ['a sign-out of another kind', createIdentityProvider, newOne({ sign_out: 'both' }), invalid('sign_out')],
  ['no secret', createIdentityProvider, WITHOUT, invalid('client_secret')],
  [
    'a domain that is none',
    createIdentityProvider,
    newOne({ email_domains: ['a b'] }),
    invalid('email_domains[0]'),
  ],
  [
    'an unknown secret reference',
    createIdentityProvider,
    { ...WITHOUT, secret_mappings: [{ target_field: 'client_secret', secret_reference_id: FOREIGN }] },
    invalid('secret_mappings[0].secret_reference_id'),
  ],
  [
    'another target',
    createIdentityProvider,
    { ...WITHOUT, secret_mappings: [{ target_field: 'key', secret_reference_id: FOREIGN }] },
    invalid('secret_mappings[0].target_field'),
  ],
  ['an unknown one', getIdentityProvider, { identity_provider_id: FOREIGN }, gone],
  ['an unknown one', updateIdentityProvider, { identity_provider_id: FOREIGN, name: 'x' }, gone],
  ['an unknown one', deleteIdentityProvider, { identity_provider_id: FOREIGN }, gone],
  ['a workspace key', listIdentityProviders, {}, forbidden, WORKSPACE_KEY],
]);
