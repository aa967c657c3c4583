// The clients of all identity providers, made when they are first used and made anew when the provider changed.
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import type { FillSecrets } from '../mcp/upstream-headers.ts';
import type { IdentityProviderBody } from './identity-provider-collection.ts';
import { type IdentityProviders, SETTINGS_PROVIDER } from './identity-providers.ts';
import { type Logout, readLogoutToken } from './logout-token.ts';
import { OidcClient, type OidcDeps, type OidcOptions, type OidcPlace, signInFailed } from './oidc-client.ts';

export interface OidcClientsDeps extends Pick<OidcDeps, 'hasher' | 'publicUrl' | 'now' | 'onTrouble'> {
  readonly dialer: Dialer;
  readonly providers: IdentityProviders;
  /** The identity provider of the settings, for this organisation. */
  readonly ofSettings:
    | (OidcOptions & { readonly organisationId: string; readonly onFirstSight: boolean })
    | undefined;
  readonly fill: FillSecrets;
}

/** An identity provider, ready to be asked. */
export interface ReadyProvider {
  readonly id: string;
  readonly client: OidcClient;
  readonly options: OidcOptions;
  readonly onFirstSight: boolean;
}

const MOST = 200;
/** How long a sign-out waits for the identity provider's discovery document. */
const SIGN_OUT_WAIT_MS = 2000;

export class OidcClients {
  readonly #deps: OidcClientsDeps;
  readonly #made = new LruCache<ReadyProvider>(MOST);

  constructor(deps: OidcClientsDeps) {
    this.#deps = deps;
  }

  /**
   * @param providerId id or slug; undefined: that of the settings
   * @throws GatewayError not_found for one that is not there or is disabled
   */
  find(organisationId: string, providerId: string | undefined): ReadyProvider {
    const { providers, ofSettings } = this.#deps;
    if (providerId === undefined || providerId === SETTINGS_PROVIDER) {
      if (ofSettings === undefined || ofSettings.organisationId !== organisationId) throw unknown();
      return this.#ready(
        { organisationId, providerId: SETTINGS_PROVIDER },
        1,
        () => ofSettings,
        ofSettings.onFirstSight,
      );
    }
    const found = providers.enabled(organisationId, providerId);
    if (found === undefined) throw unknown();
    const { id, version, body } = found;
    const onFirstSight = body.accounts === 'first_sight';
    return this.#ready(
      { organisationId, providerId: id },
      version,
      () => this.#optionsOf(found),
      onFirstSight,
    );
  }

  /** Who is signed out. @throws GatewayError validation_failed, upstream_unreachable */
  async logout({ client, options }: ReadyProvider, token: string): Promise<Logout> {
    const keys = await client.keys();
    if (keys === undefined) throw signInFailed();
    const { issuer, clientId } = options;
    try {
      return await readLogoutToken(token, { issuer, clientId, keys });
    } catch (error) {
      this.#deps.onTrouble(error);
      throw error;
    }
  }

  /**
   * Where the browser ends the session of the identity provider that made one of ours; undefined where that cannot be
   * had within SIGN_OUT_WAIT_MS: our own has ended all the same.
   */
  async signOutUrl(
    organisationId: string,
    providerId: string,
    idToken: string | undefined,
  ): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, SIGN_OUT_WAIT_MS, undefined);
    });
    try {
      const { client, options } = this.find(organisationId, providerId);
      if (options.signOut === 'gateway') return undefined;
      return await Promise.race([client.signOutUrl(idToken), late]);
    } catch {
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  #ready(place: OidcPlace, version: number, read: () => OidcOptions, onFirstSight: boolean): ReadyProvider {
    const key = `${place.providerId} ${version}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const options = read();
    const ready = {
      id: place.providerId,
      client: new OidcClient({ ...this.#deps, place, options }),
      options,
      onFirstSight,
    };
    this.#made.set(key, ready);
    return ready;
  }

  #optionsOf({ organisationId, body }: Document<IdentityProviderBody>): OidcOptions {
    const { clientSecret, secretMappings = [], emailDomains, ...options } = body;
    return {
      ...options,
      ...(emailDomains === undefined ? {} : { emailDomains }),
      clientSecret: async () => {
        const given: JsonObject = clientSecret === undefined ? {} : { client_secret: clientSecret };
        const filled = await this.#deps.fill(given, secretMappings, {
          organisationId,
          workspaceId: undefined,
        });
        if (typeof filled.client_secret !== 'string')
          throw fail('secret_unavailable', 'the secret of the identity provider cannot be read');
        return filled.client_secret;
      },
    };
  }
}

function unknown() {
  return fail('not_found', 'there is no such identity provider: begin at /console');
}
