// Sign-in without an API key, with what it needs of the rooms: identity providers, links by mail, back-channel logout.
import { linkCookie, linkSecret, setCookie } from '../access/sessions/session-cookie.ts';
import { LONGEST_MS } from '../access/sessions/session-ring.ts';
import { SETTINGS_PROVIDER } from '../access/sign-in/identity-providers.ts';
import { LOGOUT_SECONDS } from '../access/sign-in/logout-token.ts';
import { type SignedIn, signInFailed } from '../access/sign-in/oidc-client.ts';
import type { OidcClients } from '../access/sign-in/oidc-clients.ts';
import { LINK_MS, openLink } from '../access/sign-in/sign-in-link.ts';
import { isSignOut } from '../access/sign-in/sign-out.ts';
import { openTransaction, SIGN_IN_MS } from '../access/sign-in/transaction.ts';
import { endSessions } from '../admin/sign-in/logout.ts';
import { type SignInDeps, signIn } from '../admin/sign-in/sign-in.ts';
import type { SignInSurface } from '../edge/sign-in-page.ts';
import { AddressRates } from '../lib/address-rates.ts';
import { clientAddress } from '../lib/client-address.ts';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';
import type { SharedState } from '../store/shared-state.ts';
import type { Base } from './base.ts';
import type { Identity } from './open-identity.ts';

export interface SignInParts extends Base {
  readonly identity: Identity;
  readonly state: Pick<SharedState, 'acquireLease'>;
  readonly names: HeaderNames;
  readonly oidc: OidcClients;
}

/** The source of groups of the identity provider that the settings name. */
const SETTINGS_GROUPS = 'oidc';

export function openSignIn(parts: SignInParts): SignInSurface {
  const { settings, stores, identity, state, names, oidc: clients } = parts;
  const { directory, sessions, auditLog, tenancy } = identity;
  const home = tenancy.organisationId;
  const { hasher, documents } = stores;
  const rates = new AddressRates(settings.failedCallsPerSecond);
  const addressOf: (req: Parameters<SignInSurface['taken']>[0]) => string = ({ socket, headers }) => {
    const forwarded = headers['x-forwarded-for'];
    const list = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
    return clientAddress(socket.remoteAddress ?? '', list, settings.trustedProxies);
  };
  const secure: SignInSurface['secure'] = ({ headers }) =>
    sessions.site.secure || headers['x-forwarded-proto'] === 'https';
  /** Of one use on all instances. */
  const useOnce = async (organisationId: string, key: string, leaseMs: number): Promise<boolean> =>
    (await state.acquireLease(organisationId, { key, owner: crypto.randomUUID(), leaseMs })).acquired;
  const enter = async (
    req: Parameters<SignInSurface['taken']>[0],
    person: SignedIn,
    how: Pick<SignInDeps, 'organisationId' | 'onFirstSight' | 'protocol' | 'groupSource'>,
  ) => {
    const browser = { headers: new GatewayHeaders(names, req.headers), address: addressOf(req) };
    const people = { documents, systemChanges: auditLog.systemChanges, directory, sessions, now: Date.now };
    const secret = await signIn({ ...people, ...how }, person, browser);
    return { location: person.returnTo, setCookie: setCookie(secret, secure(req), LONGEST_MS) };
  };
  return {
    async begin({ organisation = home, provider, returnTo }) {
      return clients.find(organisation, provider).client.begin(returnTo);
    },
    async finish(req, query, cookie) {
      const transaction = cookie === undefined ? undefined : openTransaction(hasher, cookie, Date.now());
      if (transaction === undefined) throw signInFailed();
      const { organisationId, providerId } = transaction;
      const { client, onFirstSight } = clients.find(organisationId, providerId);
      // Also where the identity provider takes a code twice.
      const key = `sign-in:state:${hasher.hash(transaction.state).slice(0, 40)}`;
      if (!(await useOnce(organisationId, key, SIGN_IN_MS))) throw signInFailed();
      const groupSource = providerId === SETTINGS_PROVIDER ? SETTINGS_GROUPS : providerId;
      const how = { organisationId, onFirstSight, protocol: 'oidc', groupSource } as const;
      return enter(req, await client.finish(query, transaction), how);
    },
    async followLink(req, token) {
      const link = openLink(hasher, token, linkSecret(req.headers.cookie, secure(req)), Date.now());
      if (link === undefined) throw signInFailed();
      const { organisationId, email, returnTo, id } = link;
      if (!(await useOnce(organisationId, `sign-in:link:${id}`, LINK_MS))) throw signInFailed();
      const person = { email, firstName: '', lastName: '', groups: [], by: {}, returnTo };
      const how = { organisationId, onFirstSight: false, protocol: 'mail', groupSource: undefined } as const;
      const { location, setCookie: session } = await enter(req, person, how);
      return { location, setCookie: [session, linkCookie('', secure(req), 0)] };
    },
    async logout({ organisation = home, provider }, token) {
      const ready = clients.find(organisation, provider);
      const meant = await clients.logout(ready, token);
      const key = `sign-in:logout:${hasher.hash(`${ready.options.issuer} ${meant.tokenId}`).slice(0, 40)}`;
      if (!(await useOnce(organisation, key, 2 * LOGOUT_SECONDS * 1000))) return;
      await endSessions({ ...auditLog, sessions, now: Date.now }, organisation, ready.id, meant);
    },
    isSignOut: (signedOut) => isSignOut(hasher, signedOut, Date.now()),
    taken: (req) => rates.take(addressOf(req)),
    secure,
  };
}
