// What the tests use of oidc-provider, which ships no types.
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  interface Configuration {
    readonly clients: readonly Readonly<Record<string, unknown>>[];
    readonly claims: Readonly<Record<string, readonly string[]>>;
    readonly jwks: { readonly keys: readonly object[] };
    readonly cookies: { readonly keys: readonly string[] };
    readonly pkce: { readonly required: () => boolean };
    readonly findAccount: (
      context: unknown,
      id: string,
    ) => { readonly accountId: string; readonly claims: () => Readonly<Record<string, unknown>> };
  }

  export default class Provider {
    constructor(issuer: string, configuration: Configuration);
    readonly AccessToken: {
      find(value: string): Promise<{ readonly isExpired: boolean; destroy(): Promise<void> } | undefined>;
    };
    callback(): RequestListener;
  }
}
