// The caller of work that goes on after its request: what is stored, so that calls can be made in its name.
import type { Call } from './call.ts';

/** Who asked, and with which headers. It is stored encrypted. */
export interface KeptCaller {
  readonly keyId: string;
  /** Of a token, whose key cannot be looked up: the principal as JSON. */
  readonly token?: object;
  readonly providerCredential?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers of a connection, a body, or a credential: none of a later call's. */
const LEFT =
  /^(?:authorization|x-api-key|cookie|host|connection|expect|te|trailer|upgrade|keep-alive|transfer-encoding|accept.*|content-.*|user-agent|proxy-.*|sec-.*|:.*)$/;

/** What is stored of an authenticated call's caller. */
export function callerOf({ headers, principal, providerCredential }: Call): KeptCaller {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers.raw)) {
    if (value === undefined || LEFT.test(name) || headers.names.of('api-key').includes(name)) continue;
    kept[name] = typeof value === 'string' ? value : value.join(', ');
  }
  const { scopes, ...rest } = principal!;
  return {
    keyId: rest.keyId,
    headers: kept,
    ...(providerCredential === undefined ? {} : { providerCredential }),
    ...(rest.token === undefined
      ? {}
      : { token: JSON.parse(JSON.stringify({ ...rest, scopes: [...scopes] })) as object }),
  };
}
