// A verified token as the caller that it makes: as much as a key of the workspace, never more.

import type { TokenGrant } from '../../call/grant.ts';
import type { KeyKind, Principal } from '../../call/principal.ts';
import type { Directory } from '../directory.ts';
import { roleAllows } from '../roles.ts';
import { scopesOf } from '../scopes.ts';
import { notAllowed } from './refused.ts';

/** What is read of the directory. */
export type TokenDirectory = Pick<
  Directory,
  'organisation' | 'workspace' | 'user' | 'userByEmail' | 'roleIn' | 'setting'
>;

const SCOPES: Readonly<Record<Exclude<KeyKind, 'organisation-service'>, ReadonlySet<string>>> = {
  'workspace-service': new Set(scopesOf('workspace-service')),
  'workspace-user': new Set(scopesOf('workspace-user')),
};

/** The content of a token whose signature was verified. */
export interface VerifiedClaims {
  readonly grant: TokenGrant;
  /** Unix milliseconds, skew included. */
  readonly expiresAt: number;
  /** Of the key that it was verified with. */
  readonly thumbprint: string;
  /** Of the token itself. */
  readonly digest: string;
  readonly knownUsersOnly: boolean;
}

/** A token whose signature was verified: the caller that it makes follows the directory. */
export class VerifiedToken {
  readonly grant: TokenGrant;
  readonly expiresAt: number;
  readonly thumbprint: string;
  readonly #keyId: string;
  readonly #knownUsersOnly: boolean;
  #principal: Principal | undefined;
  /** The records that the principal was made from: a change of them makes a new one. */
  #made: readonly unknown[] = [];

  constructor(claims: VerifiedClaims) {
    this.grant = claims.grant;
    this.expiresAt = claims.expiresAt;
    this.thumbprint = claims.thumbprint;
    this.#keyId = `jwt_${claims.digest.slice(0, 32)}`;
    this.#knownUsersOnly = claims.knownUsersOnly;
  }

  /** @throws GatewayError forbidden when the workspace, or a user who must be known, is not there (any more). */
  principal(directory: TokenDirectory): Principal {
    const { organisationId, workspace: named, user: name } = this.grant;
    const organisation = directory.organisation(organisationId);
    const workspace = directory.workspace(organisationId, named);
    if (organisation === undefined || workspace === undefined)
      throw notAllowed('the workspace in the token is not one of its organisation');
    const user =
      name === undefined
        ? undefined
        : (directory.user(organisationId, name) ?? directory.userByEmail(organisationId, name));
    if (user === undefined && this.#knownUsersOnly)
      throw notAllowed('the user in the token is not one of its organisation');
    const [a, b, c] = this.#made;
    if (this.#principal === undefined || a !== organisation || b !== workspace || c !== user) {
      this.#principal = this.#make(directory, workspace.id, user?.id);
      this.#made = [organisation, workspace, user];
    }
    return this.#principal;
  }

  /** A user of the directory has their role there, which the check of every call applies; others have the token's. */
  #make(directory: TokenDirectory, workspaceId: string, userId: string | undefined): Principal {
    const { grant } = this;
    const { organisationId, role, user } = grant;
    const kind = userId === undefined && role === undefined ? 'workspace-service' : 'workspace-user';
    const inRole = (scope: string): boolean =>
      userId !== undefined ||
      role === undefined ||
      roleAllows(role, scope, (name) => directory.setting(name, organisationId, workspaceId));
    return {
      organisationId,
      workspaceId,
      userId,
      keyId: this.#keyId,
      keyName: user ?? 'JWT',
      kind,
      scopes: new Set(grant.scopes.filter((scope) => SCOPES[kind].has(scope) && inRole(scope))),
      token: grant,
    };
  }
}
