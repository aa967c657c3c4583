// What the sign-in page offers, and links by mail.
import { hash } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type RequestSignInLinkRequest,
  type RequestSignInLinkResponse,
  RequestSignInLinkResponseSchema,
  type SignInMethods,
  SignInMethodsSchema,
} from '../../../gen/gateway/admin/v2/sessions_pb.ts';
import type { Directory } from '../../access/directory.ts';
import { invites } from '../../access/identity-collections.ts';
import type { KeyHasher } from '../../access/key-hash.ts';
import { type CookieSite, isOwnOrigin, linkCookie } from '../../access/sessions/session-cookie.ts';
import type { IdentityProviders } from '../../access/sign-in/identity-providers.ts';
import { LINK_MS, newBrowserSecret, sealLink } from '../../access/sign-in/sign-in-link.ts';
import { ownPath } from '../../access/sign-in/transaction.ts';
import type { Call } from '../../call/call.ts';
import type { AddressRates } from '../../lib/address-rates.ts';
import { fail } from '../../lib/errors.ts';
import type { Mail } from '../../lib/mailer.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import type { DocumentStore } from '../../store/documents.ts';
import type { SharedState } from '../../store/shared-state.ts';

export interface SignInMethodsDeps {
  readonly documents: DocumentStore;
  readonly directory: Directory;
  readonly identityProviders: IdentityProviders;
  /** Whether the settings name an identity provider. */
  readonly hasSettingsProvider: boolean;
  /** The organisation that people sign in to. */
  readonly homeOrganisationId: string;
  readonly hasher: KeyHasher;
  readonly state: Pick<SharedState, 'acquireLease'>;
  readonly publicUrl: () => string;
  readonly mail: ((mail: Mail) => void) | undefined;
  readonly site: CookieSite;
  readonly addressOf: (call: Call) => string;
  readonly rates: AddressRates;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/** Links of one address in LINK_MS. */
const MOST_LINKS = 3;
/** The most links that are made at the same time; callers do not wait for them. */
const AT_ONCE = 16;
const MOST_WAITING = 1000;

/** Methods of SessionsService for callers without a key. */
export function signInMethods(deps: SignInMethodsDeps) {
  const { identityProviders, homeOrganisationId, mail, rates } = deps;
  const semaphore = new Semaphore(AT_ONCE);
  let waiting = 0;
  return {
    async listSignInMethods(): Promise<SignInMethods> {
      const stored = identityProviders.listOf(homeOrganisationId).map(({ id, slug = id, body }) => ({
        name: body.name,
        path: `/console/sign-in/oidc?provider=${slug}`,
      }));
      const own = deps.hasSettingsProvider ? [{ name: 'single sign-on', path: '/console/sign-in/oidc' }] : [];
      return create(SignInMethodsSchema, {
        object: 'list',
        data: [...own, ...stored],
        mail: mail !== undefined,
      });
    },

    async requestSignInLink(
      { email, returnTo }: RequestSignInLinkRequest,
      call: Call,
    ): Promise<RequestSignInLinkResponse> {
      if (mail === undefined)
        throw fail('operation_unsupported', 'this gateway sends no mail: sign in with an API key');
      if (!isOwnOrigin(call.headers, deps.site))
        throw fail('forbidden', 'a sign-in begins at the pages of this gateway');
      const waitMs = rates.take(deps.addressOf(call));
      if (waitMs > 0)
        throw fail('rate_limited', 'too many sign-ins come from this address: try again later', {
          retryAfterMs: Math.max(1000, waitMs),
        });
      const secret = newBrowserSecret();
      const secure = deps.site.secure || call.headers.plain('x-forwarded-proto') === 'https';
      call.answerHeaders.set('set-cookie', linkCookie(secret, secure, LINK_MS));
      // The answer is on its way before anything is looked up: its time tells nothing of the address.
      if (waiting < MOST_WAITING) {
        waiting++;
        void semaphore
          .pass(() => send(deps, mail, email.toLowerCase(), ownPath(returnTo), secret))
          .catch(deps.onTrouble)
          .finally(() => waiting--);
      }
      return create(RequestSignInLinkResponseSchema, { object: 'sign-in-link', expiresIn: LINK_MS / 1000 });
    },
  };
}

async function send(
  deps: SignInMethodsDeps,
  mail: (mail: Mail) => void,
  email: string,
  returnTo: string,
  secret: string,
): Promise<void> {
  const { hasher, homeOrganisationId: organisationId, publicUrl, directory } = deps;
  if (!(await isKnown(deps, email)) || !(await isFree(deps, email))) return;
  const expiresAt = deps.now() + LINK_MS;
  const token = sealLink(hasher, { organisationId, email, returnTo, expiresAt }, secret);
  const name = directory.organisation(organisationId)?.body.name.replaceAll(/[\r\n]+/g, ' ') ?? '';
  mail({
    to: email,
    subject: `Sign in to ${name}`,
    text:
      `To sign in to ${name}, open this link in the browser that asked for it:\n` +
      `${publicUrl()}/console/sign-in/link?token=${token}\n\n` +
      'It works once, for 10 minutes. If you did not ask for it, leave it be.\n',
  });
}

/** Whether mail may go there: to a user who is active, or to somebody who is invited. */
async function isKnown(
  { documents, directory, homeOrganisationId: organisationId, now }: SignInMethodsDeps,
  email: string,
): Promise<boolean> {
  if (directory.userByEmail(organisationId, email) !== undefined) return true;
  const page = await documents.page({ organisationId, workspaceId: undefined }, invites, {
    filter: [{ field: 'pendingEmail', op: 'eq', value: email }],
    pageSize: 1,
  });
  return page.documents.some(({ body }) => body.expiresAt > now());
}

/** Whether fewer than MOST_LINKS went to the address lately, on any instance. */
async function isFree(
  { state, homeOrganisationId, hasher }: SignInMethodsDeps,
  email: string,
): Promise<boolean> {
  const key = hasher.hash(`mail ${email}`).slice(0, 40);
  for (let i = 0; i < MOST_LINKS; i++) {
    const request = {
      key: `sign-in:mail:${key}:${i}`,
      owner: hash('sha256', `${Math.random()}`),
      leaseMs: LINK_MS,
    };
    if ((await state.acquireLease(homeOrganisationId, request)).acquired) return true;
  }
  return false;
}
