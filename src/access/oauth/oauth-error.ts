// Errors of OAuth 2.1 (RFC 6749, parts 4.1.2.1 and 5.2; RFC 7591, part 3.2.2; RFC 8707, part 2).

export type OauthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'server_error'
  | 'temporarily_unavailable'
  | 'unsupported_grant_type'
  | 'unsupported_response_type';

/** An error that the client, or the person at the browser, may read. */
export class OauthError extends Error {
  readonly code: OauthErrorCode;
  readonly status: number;

  constructor(code: OauthErrorCode, message: string, status = 400) {
    super(message);
    this.name = 'OauthError';
    this.code = code;
    this.status = status;
  }
}
