// Sign-in by an identity provider of the settings, with what it needs of the rooms.
import { setCookie } from '../access/sessions/session-cookie.ts';
import { LONGEST_MS } from '../access/sessions/session-ring.ts';
import { OidcClient } from '../access/sign-in/oidc-client.ts';
import { signIn } from '../admin/sign-in/sign-in.ts';
import type { SignInSurface } from '../edge/sign-in-page.ts';
import { AddressRates } from '../lib/address-rates.ts';
import { clientAddress } from '../lib/client-address.ts';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';
import type { Base } from './base.ts';
import type { Identity } from './open-identity.ts';

/** Undefined without an identity provider in the settings. */
export function openSignIn(
  { settings, log, stores: { documents, hasher } }: Base,
  { dialer, directory, sessions, auditLog, tenancy }: Identity,
  names: HeaderNames,
  publicUrl: () => string,
): SignInSurface | undefined {
  const { oidc } = settings;
  if (oidc === undefined) return undefined;
  const { systemChanges } = auditLog;
  const { organisationId } = tenancy;
  const people = {
    documents,
    systemChanges,
    directory,
    sessions,
    organisationId,
    onFirstSight: oidc.onFirstSight,
    now: Date.now,
  };
  const client = new OidcClient({
    options: oidc,
    dialer,
    hasher,
    publicUrl,
    now: Date.now,
    onTrouble: (error) => log.warn({ err: error }, 'a sign-in by the identity provider failed'),
  });
  const rates = new AddressRates(settings.failedCallsPerSecond);
  const addressOf: (req: Parameters<SignInSurface['taken']>[0]) => string = ({ socket, headers }) => {
    const forwarded = headers['x-forwarded-for'];
    const list = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
    return clientAddress(socket.remoteAddress ?? '', list, settings.trustedProxies);
  };
  const secure: SignInSurface['secure'] = ({ headers }) =>
    sessions.site.secure || headers['x-forwarded-proto'] === 'https';
  return {
    begin: (returnTo) => client.begin(returnTo),
    async finish(req, query, cookie) {
      const person = await client.finish(query, cookie);
      const browser = { headers: new GatewayHeaders(names, req.headers), address: addressOf(req) };
      const secret = await signIn(people, person, browser);
      return { location: person.returnTo, setCookie: setCookie(secret, secure(req), LONGEST_MS) };
    },
    taken: (req) => rates.take(addressOf(req)),
    secure,
  };
}
