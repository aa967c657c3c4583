// One organisation's settings for tokens, in effect.
import { ALGORITHMS, isAlgorithm } from './algorithms.ts';
import type { ClaimNames, JwtSettingsBody } from './collection.ts';
import { readFetchedSet } from './key-set.ts';
import { inlineKeys, type KeySource } from './key-source.ts';
import type { UnverifiedToken } from './read-token.ts';
import { refused } from './refused.ts';
import { type RemoteDeps, RemoteKeys } from './remote-keys.ts';
import { checkTimeAndParties, type TokenRules } from './time-and-parties.ts';

export const DEFAULT_SKEW_SECONDS = 60;

export class Realm {
  readonly organisationId: string;
  readonly settings: JwtSettingsBody;
  readonly claimNames: ClaimNames | undefined;
  readonly knownUsersOnly: boolean;
  readonly keys: KeySource;
  readonly jwksUri: string | undefined;
  readonly #rules: TokenRules;
  readonly #algorithms: ReadonlySet<string>;
  /** Tokens that wait for their keys or their turn. */
  pending = 0;

  /** @param before its predecessor: the same issuer's keys need not be fetched again */
  constructor(
    organisationId: string,
    settings: JwtSettingsBody,
    deps: RemoteDeps,
    before: Realm | undefined,
  ) {
    const { jwksUri, jwks, issuers, audiences, algorithms, clockSkewSeconds, claims } = settings;
    this.organisationId = organisationId;
    this.settings = settings;
    this.claimNames = claims;
    this.knownUsersOnly = settings.knownUsersOnly ?? false;
    this.jwksUri = jwksUri;
    this.#rules = { issuers, audiences, clockSkewSeconds: clockSkewSeconds ?? DEFAULT_SKEW_SECONDS };
    this.#algorithms = new Set(algorithms.length === 0 ? ALGORITHMS : algorithms.filter(isAlgorithm));
    if (jwksUri === undefined) this.keys = inlineKeys(readFetchedSet(jwks ?? { keys: [] }));
    else this.keys = before?.jwksUri === jwksUri ? before.keys : new RemoteKeys(jwksUri, deps);
  }

  /**
   * Every check that needs no signature. Returns when the token ends, in Unix milliseconds.
   * @throws GatewayError unauthenticated.
   */
  check({ header, claims }: UnverifiedToken, now: number): number {
    if (!this.#algorithms.has(header.algorithm)) throw refused("the token's algorithm is not accepted");
    return checkTimeAndParties(claims, this.#rules, now);
  }
}
