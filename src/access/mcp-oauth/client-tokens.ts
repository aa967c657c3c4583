// The gateway's own tokens at upstreams (RFC 6749, part 4.4): one for each integration, kept until shortly before it expires.
import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import type { Document } from '../../store/documents.ts';
import type { McpIntegrationBody } from '../mcp/mcp-collections.ts';
import { discover } from './auth-server.ts';
import { addAssertion, PRIVATE_KEY_JWT, signingKey } from './client-proof.ts';
import { oauthFetch } from './oauth-fetch.ts';
import { tokenParts } from './user-tokens.ts';

export interface ClientTokensDeps {
  readonly dialer: Pick<Dialer, 'stream'>;
  /** The integration's client secret, secret references filled in. */
  readonly clientSecret: (integration: Document<McpIntegrationBody>) => Promise<string | undefined>;
  readonly now: () => number;
  readonly onTrouble: (error: unknown) => void;
}

interface Held {
  readonly token: Promise<string>;
  text: string | undefined;
  /** Unix milliseconds. */
  until: number;
}

const MOST = 1000;
const EARLY_MS = 30_000;
/** Of a token that does not say. */
const USUAL_MS = 300_000;

export class ClientTokens {
  readonly #deps: ClientTokensDeps;
  readonly #held = new LruCache<Held>(MOST);

  constructor(deps: ClientTokensDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError upstream_* where there is none */
  bearer(integration: Document<McpIntegrationBody>): string | Promise<string> {
    const key = `${integration.id} ${integration.version}`;
    const known = this.#held.get(key);
    if (known !== undefined && known.until > this.#deps.now()) return known.text ?? known.token;
    const held: Held = {
      token: Promise.resolve().then(() => this.#fetched(integration, held)),
      text: undefined,
      until: Number.POSITIVE_INFINITY,
    };
    held.token.catch(() => {
      held.until = 0;
    });
    this.#held.set(key, held);
    return held.token;
  }

  /** The upstream did not take a token. @returns whether another one may do */
  refused(integration: Document<McpIntegrationBody>, token: string): boolean {
    const key = `${integration.id} ${integration.version}`;
    const known = this.#held.get(key);
    if (known === undefined || known.text !== token) return true;
    this.#held.delete(key);
    return true;
  }

  async #fetched(integration: Document<McpIntegrationBody>, held: Held): Promise<string> {
    const { dialer, now, clientSecret, onTrouble } = this.#deps;
    const { clientId, scope, tokenEndpoint, issuer, authMethod, signingAlgorithm } =
      integration.body.oauth ?? {};
    const secret = await clientSecret(integration);
    if (clientId === undefined || secret === undefined)
      throw fail('conflict', 'the MCP integration has no client_id or no client_secret');
    const library = await import('@modelcontextprotocol/client');
    const outside = oauthFetch(dialer);
    const found = tokenEndpoint === undefined ? await discover(integration.body, outside) : undefined;
    const url = found?.url ?? new URL('/', tokenEndpoint).href;
    const provider = new library.ClientCredentialsProvider({
      // The server was asked, or the integration says it: the library compares nothing more.
      expectedIssuer: found?.issuer ?? url,
      clientId,
      clientSecret: secret,
      ...(scope === undefined ? {} : { scope }),
    });
    const audience = found?.issuer ?? issuer ?? tokenEndpoint ?? url;
    const signs: Pick<OAuthClientProvider, 'addClientAuthentication'> = {
      addClientAuthentication: (_headers, params) =>
        addAssertion(params, clientId, signingKey(secret, signingAlgorithm), audience),
    };
    const asked = scope ?? found?.scope;
    try {
      const given = await library.fetchToken(
        authMethod === PRIVATE_KEY_JWT ? Object.assign(provider, signs) : provider,
        url,
        {
          metadata: (found?.metadata ?? {
            issuer: new URL('/', url).href.replace(/\/$/, ''),
            token_endpoint: tokenEndpoint,
            authorization_endpoint: tokenEndpoint,
            response_types_supported: ['code'],
          }) as never,
          ...(found === undefined ? {} : { resource: found.resource }),
          ...(asked === undefined ? {} : { scope: asked }),
          fetchFn: outside.fetch,
        },
      );
      const { tokens, expiresAt } = tokenParts(given, {}, now());
      const lasts = (expiresAt ?? now() + USUAL_MS) - now();
      held.until = now() + Math.max(1000, lasts - Math.min(EARLY_MS, lasts / 2));
      held.text = tokens.accessToken;
      return tokens.accessToken;
    } catch (error) {
      onTrouble(error);
      const failure = error instanceof GatewayError ? error : outside.failures.at(-1);
      if (failure !== undefined) throw failure;
      throw fail('upstream_status', 'the authorization server gives the gateway no token', { cause: error });
    }
  }
}
