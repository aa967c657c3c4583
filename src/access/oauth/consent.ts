// The consent of a person: what they are asked, and the code that their answer makes. They are asked each time.
import { hash, randomUUID } from 'node:crypto';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { SealedText } from '../../lib/sealed-text.ts';
import { archiveOperation, type Document, insertOperation } from '../../store/documents.ts';
import type { SessionBody } from '../sessions/session-collection.ts';
import { isOwnOrigin } from '../sessions/session-cookie.ts';
import {
  type AuthorizeRequest,
  answerLocation,
  clientIdOf,
  readAuthorizeRequest,
  ToldByRedirect,
} from './authorize-request.ts';
import { isClientAddress } from './client-documents.ts';
import { type OauthGrantBody, oauthGrants } from './grant-collection.ts';
import { type GrantTarget, grantBody, targetOf } from './grant-target.ts';
import type { OauthClient } from './oauth-client.ts';
import type { OauthDeps } from './oauth-deps.ts';
import { OauthError } from './oauth-error.ts';
import { redirectHost } from './redirect-uri.ts';
import { newToken } from './token-text.ts';

/** A browser at a page. */
export interface Visitor {
  readonly headers: GatewayHeaders;
  readonly address: string;
  /** Where it reaches the gateway: the issuer. */
  readonly base: string;
}

/** What the person is asked. */
export interface ConsentQuestion {
  readonly client: OauthClient;
  readonly redirectUri: string;
  readonly target: GrantTarget;
  /** Names of the workspaces, by id. */
  readonly workspaces: ReadonlyMap<string, string>;
  readonly person: string;
  /** Comes back with the answer. */
  readonly ticket: string;
}

interface Ticket {
  readonly request: AuthorizeRequest;
  readonly sessionId: string;
  readonly expiresAt: number;
}

const ANSWER_MS = 600_000;
const CODE_MS = 60_000;
/** Grants of one person or key: the oldest ends when there are more. */
const MOST_GRANTS = 100;

export class Consent {
  readonly #deps: OauthDeps;
  readonly #tickets: SealedText<Ticket>;

  constructor(deps: OauthDeps) {
    this.#deps = deps;
    this.#tickets = new SealedText(deps.secret, 'oauth consent');
  }

  /**
   * The question, or `sign-in` for a browser without a session.
   * @throws OauthError for the person, ToldByRedirect for the client
   */
  async ask(query: URLSearchParams, visitor: Visitor): Promise<ConsentQuestion | 'sign-in'> {
    const session = this.#deps.sessions.visitorOf(visitor.headers);
    const id = clientIdOf(query);
    const registered = this.#deps.registered.find(id);
    // Nothing is fetched for strangers.
    if (registered !== undefined) readAuthorizeRequest(query, registered);
    else if (!isClientAddress(id)) throw unknownClient();
    if (session === undefined) return 'sign-in';
    const client = registered ?? (await this.#deps.clientDocuments.find(id));
    const request = readAuthorizeRequest(query, client);
    const target = this.#target(session, visitor, request);
    const { now, directory } = this.#deps;
    const { organisationId } = session;
    // Keys are looked up when tokens are asked for: a ticket has no place for them.
    const { keys: _, ...named } = client;
    const asked = { ...request, client: named };
    return {
      client,
      redirectUri: request.redirectUri,
      target,
      workspaces: new Map(
        target.workspaceIds.map((one) => [one, directory.workspace(organisationId, one)?.body.name ?? one]),
      ),
      person: this.#nameOf(session),
      ticket: this.#tickets.seal({ request: asked, sessionId: session.id, expiresAt: now() + ANSWER_MS }),
    };
  }

  /**
   * Where the browser goes with the person's answer.
   * @throws OauthError for an answer that this person did not give here
   */
  async answer(form: URLSearchParams, visitor: Visitor): Promise<string> {
    const { sessions, now } = this.#deps;
    const session = sessions.visitorOf(visitor.headers);
    const ticket = this.#tickets.open(form.get('ticket') ?? '');
    const isOwn = isOwnOrigin(visitor.headers, sessions.site);
    if (session === undefined || ticket === undefined || !isOwn || ticket.sessionId !== session.id)
      throw new OauthError('access_denied', 'the answer is not yours: begin again', 403);
    if (ticket.expiresAt <= now())
      throw new OauthError('access_denied', 'the question is too old: begin again');
    const { request } = ticket;
    if (form.get('decision') !== 'allow') {
      const fault = new OauthError('access_denied', 'the person did not allow it');
      throw new ToldByRedirect(fault, request.redirectUri, request.state);
    }
    const target = this.#target(session, visitor, request);
    const { workspaceIds } = target;
    const chosen = form.get('workspace') ?? (workspaceIds.length === 1 ? workspaceIds[0] : undefined);
    if (chosen === undefined || !workspaceIds.includes(chosen))
      throw new OauthError('invalid_request', 'workspace: choose one of yours');
    const code = await this.#grant(session, visitor, request, target, chosen);
    return answerLocation(request.redirectUri, visitor.base, request.state, { code });
  }

  async #grant(
    session: Document<SessionBody>,
    visitor: Visitor,
    { client, redirectUri, challenge, resource }: AuthorizeRequest,
    { serverId }: GrantTarget,
    workspaceId: string,
  ): Promise<string> {
    const { hasher, now, systemChanges, grants } = this.#deps;
    const { organisationId } = session;
    const id = randomUUID();
    const createdAt = now();
    const code = newToken(hasher, 'code', { organisationId, grantId: id });
    const expiresAt = createdAt + CODE_MS;
    const body = grantBody(session.body, {
      clientId: client.id,
      clientKey: clientKey(client.id),
      clientName: client.name,
      ...(client.host === undefined ? {} : { clientHost: client.host }),
      ...(client.isSigned ? { isSigned: true } : {}),
      redirectHost: redirectHost(redirectUri),
      ...(serverId === undefined ? {} : { serverId }),
      ...(resource === undefined ? { isForEach: true } : {}),
      resource: resource ?? visitor.base,
      code: { hash: hasher.hash(code), challenge, redirectUri, expiresAt },
      usedAt: createdAt,
      expiresAt,
    });
    const operations = [
      insertOperation(oauthGrants, { id, workspaceId, createdAt, body }),
      ...this.#old(session).map((old) => archiveOperation(oauthGrants, old, { updatedAt: createdAt })),
    ];
    const [written] = await systemChanges.commit(
      { verb: 'create', resource: 'oauth-grant', by: this.#by(session, visitor) },
      { organisationId, workspaceId: undefined },
      operations,
      {
        id,
        name: client.name,
        workspaceId,
        after: { client_name: client.name, client_id: client.host ?? '', resource: body.resource },
      },
    );
    grants.replica.apply(written as Document<OauthGrantBody>);
    return code;
  }

  /** Ids of the person's grants that have ended, and of the oldest beyond the most that there may be. */
  #old({ organisationId, body }: Document<SessionBody>): string[] {
    const { grants } = this.#deps;
    const own = [...grants.replica.of(organisationId).values()]
      .filter((one) =>
        body.userId === undefined ? one.body.keyId === body.keyId : one.body.userId === body.userId,
      )
      .sort((a, b) => b.createdAt - a.createdAt);
    return own
      .filter((one, i) => i >= MOST_GRANTS - 1 || grants.principalOf(one) === undefined)
      .slice(0, MOST_GRANTS)
      .map(({ id }) => id);
  }

  #target(session: Document<SessionBody>, { base }: Visitor, request: AuthorizeRequest): GrantTarget {
    try {
      return targetOf(this.#deps, session, base, request.resource);
    } catch (error) {
      if (error instanceof OauthError) throw new ToldByRedirect(error, request.redirectUri, request.state);
      throw error;
    }
  }

  #nameOf({ organisationId, body }: Document<SessionBody>): string {
    const user =
      body.userId === undefined ? undefined : this.#deps.directory.user(organisationId, body.userId);
    return user?.body.email ?? 'the API key that you signed in with';
  }

  #by(session: Document<SessionBody>, { address }: Visitor) {
    const { userId, keyId = session.id, role = '' } = session.body;
    const who =
      userId === undefined ? { type: 'api_key' as const, id: keyId } : { type: 'user' as const, id: userId };
    return {
      actor: { ...who, name: this.#nameOf(session), keyId, role },
      protocol: 'oauth',
      clientIp: address,
    };
  }
}

/** By which lists find a client's grants. */
export function clientKey(clientId: string): string {
  return hash('sha256', clientId, 'base64url');
}

function unknownClient(): OauthError {
  return new OauthError(
    'invalid_client',
    'client_id: is not known: register the client again, or use the https address of its metadata document',
  );
}
