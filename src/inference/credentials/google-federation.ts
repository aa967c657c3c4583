// Workload identity federation (Google, "Workload identity federation", AIP-4117): a token of another provider of
// identities is exchanged for Google's, and that for a service account's. google-auth-library does the same over its own
// HTTP client, past the egress dialer, and reads any file.
import type { JsonObject } from '@bufbuild/protobuf';
import { textOf } from '../../providers/json-object.ts';
import type { Lease } from '../../secrets/leases.ts';
import { exchange } from './exchange.ts';
import { type ExternalAccount, readExternal } from './google-external.ts';
import { subjectOf } from './google-subject.ts';
import { accountError, SCOPE, tokenIn } from './google-token.ts';
import type { CredentialDeps } from './identity.ts';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const WHO = 'the external account';
const FORM = ['content-type', 'application/x-www-form-urlencoded'];
/** Google's own services that give tokens, those of one region or one customer's network among them. */
const GOOGLES = /^(?:sts|iamcredentials)(?:\.[a-z0-9-]+){0,3}\.googleapis\.com$/;

/** The login of an external account. */
export interface Federation {
  /** Whether its subject token is the process's own: its file, or its identity at AWS. */
  readonly isOwn: boolean;
  readonly login: () => Promise<Lease<string>>;
}

/**
 * @param trusted whether the operator wrote the JSON: then its file may be any, and its addresses too
 * @throws GatewayError `invalid_header` for what is no external account; nothing of it is repeated
 */
export function federation(deps: CredentialDeps, json: JsonObject, trusted: boolean): Federation {
  const account = readExternal(json);
  const isOwn = account.source.kind !== 'url';
  // What the process knows goes to Google and to no address that a caller may choose.
  if (isOwn && !trusted) {
    checkGoogles(account.tokens, 'token_url');
    if (account.impersonation) checkGoogles(account.impersonation, 'service_account_impersonation_url');
  }
  return { isOwn, login: () => login(deps, account, trusted) };
}

function checkGoogles({ protocol, hostname, port }: URL, member: string): void {
  if (protocol !== 'https:' || port !== '' || !GOOGLES.test(hostname))
    throw accountError(`${member} must be an address of Google's where the gateway's own identity is used`);
}

async function login(
  deps: CredentialDeps,
  account: ExternalAccount,
  trusted: boolean,
): Promise<Lease<string>> {
  const { dialer, now } = deps;
  const { audience, subjectTokenType, tokens, impersonation, lifetime, userProject, basic } = account;
  const form = new URLSearchParams({
    grant_type: EXCHANGE,
    audience,
    scope: SCOPE,
    requested_token_type: ACCESS_TOKEN,
    subject_token_type: subjectTokenType,
    subject_token: await subjectOf(deps, account, trusted),
  });
  if (userProject !== undefined && basic === undefined) form.set('options', JSON.stringify({ userProject }));
  const headers = basic === undefined ? FORM : [...FORM, 'authorization', `Basic ${basic}`];
  const federated = tokenIn(
    await exchange(dialer, tokens, { headers, body: form.toString() }),
    tokens,
    WHO,
    now(),
  );
  if (impersonation === undefined) return federated;
  const answer = await exchange(dialer, impersonation, {
    headers: ['content-type', 'application/json', 'authorization', `Bearer ${federated.token}`],
    body: JSON.stringify({ scope: [SCOPE], lifetime: `${lifetime}s` }),
  });
  return tokenIn(answer, impersonation, `${WHO}'s service account`, now());
}

/** Whether the JSON is that of an external account. */
export function isExternal(json: JsonObject): boolean {
  return textOf(json.type) === 'external_account';
}
