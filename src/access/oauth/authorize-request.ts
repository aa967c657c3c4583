// A request for authorisation, read and checked (OAuth 2.1, part 4.1.1): what is wrong with the client or its redirect URI
// is shown to the person; everything else is told to the client.
import type { OauthClient } from './oauth-client.ts';
import { OauthError } from './oauth-error.ts';
import { isRegistered, MOST_REDIRECT_URI } from './redirect-uri.ts';
import { MOST_CLIENT_ID } from './registered-clients.ts';

/** A request whose client and redirect URI belong together. */
export interface AuthorizeRequest {
  readonly client: OauthClient;
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly challenge: string;
  /** The resource indicator as the client gave it (RFC 8707); undefined: clients of 2025-03-26 give none. */
  readonly resource: string | undefined;
}

/** An error that the client is told by a redirect. */
export class ToldByRedirect extends Error {
  readonly fault: OauthError;
  readonly redirectUri: string;
  readonly state: string | undefined;

  constructor(fault: OauthError, redirectUri: string, state: string | undefined) {
    super(fault.message);
    this.name = 'ToldByRedirect';
    this.fault = fault;
    this.redirectUri = redirectUri;
    this.state = state;
  }
}

const MOST_STATE = 2048;
const MOST_RESOURCE = 2048;
const KNOWN_SCOPES = new Set(['mcp.invoke', 'offline_access']);

/** The client's id. @throws OauthError invalid_request */
export function clientIdOf(query: URLSearchParams): string {
  const id = once(query, 'client_id');
  if (id === undefined || id === '') throw new OauthError('invalid_request', 'client_id: is needed');
  if (id.length > MOST_CLIENT_ID) throw new OauthError('invalid_request', 'client_id: is too long');
  return id;
}

/** @throws OauthError for the person, ToldByRedirect for the client */
export function readAuthorizeRequest(query: URLSearchParams, client: OauthClient): AuthorizeRequest {
  const redirectUri = once(query, 'redirect_uri') ?? '';
  if (redirectUri === '') throw new OauthError('invalid_request', 'redirect_uri: is needed');
  if (redirectUri.length > MOST_REDIRECT_URI || !isRegistered(client.redirectUris, redirectUri))
    throw new OauthError('invalid_request', 'redirect_uri: is none of those that the client has registered');
  const states = query.getAll('state');
  const state = states.length === 1 && states[0]!.length <= MOST_STATE ? states[0] : undefined;
  try {
    return { client, redirectUri, state, ...rest(query) };
  } catch (error) {
    if (error instanceof OauthError) throw new ToldByRedirect(error, redirectUri, state);
    throw error;
  }
}

function rest(query: URLSearchParams): Pick<AuthorizeRequest, 'challenge' | 'resource'> {
  const state = once(query, 'state');
  if (state !== undefined && state.length > MOST_STATE)
    throw new OauthError('invalid_request', `state: must have at most ${MOST_STATE} characters`);
  if (once(query, 'response_type') !== 'code')
    throw new OauthError('unsupported_response_type', 'response_type: must be code');
  if ((once(query, 'response_mode') ?? 'query') !== 'query')
    throw new OauthError('invalid_request', 'response_mode: must be query');
  for (const name of ['request', 'request_uri'])
    if (query.has(name)) throw new OauthError('invalid_request', `${name}: is not supported`);
  const challenge = once(query, 'code_challenge') ?? '';
  if (once(query, 'code_challenge_method') !== 'S256' || !/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw new OauthError('invalid_request', 'code_challenge: one of the method S256 is needed (PKCE)');
  if (once(query, 'prompt') === 'none')
    throw new OauthError('access_denied', 'prompt: the person is always asked');
  const scopes = (once(query, 'scope') ?? '').split(' ').filter((one) => one !== '');
  if (scopes.length > 0 && !scopes.some((one) => KNOWN_SCOPES.has(one)))
    throw new OauthError('invalid_scope', 'scope: must be mcp.invoke');
  const resource = once(query, 'resource');
  if (resource === '' || (resource !== undefined && resource.length > MOST_RESOURCE))
    throw new OauthError('invalid_target', 'resource: must be the address of the MCP server (RFC 8707)');
  return { challenge, resource };
}

/** A parameter that may be given once. @throws OauthError invalid_request */
export function once(query: URLSearchParams, name: string): string | undefined {
  const all = query.getAll(name);
  if (all.length > 1)
    throw new OauthError(
      name === 'resource' ? 'invalid_target' : 'invalid_request',
      `${name}: is given twice`,
    );
  return all[0];
}

/** Where the browser goes with an answer: the redirect URI with these members, and who answers (RFC 9207). */
export function answerLocation(
  redirectUri: string,
  issuer: string,
  state: string | undefined,
  members: Readonly<Record<string, string>>,
): string {
  const given = { ...members, ...(state === undefined ? {} : { state }), iss: issuer };
  const query = new URLSearchParams(given).toString();
  // Appended as text: a URL that is parsed and written anew may differ from the one that the client registered.
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`;
}
