// The directory in memory: organisations, workspaces, users and their places. It is read on every
// call and makes no round trip; it follows the stores' change notices and never goes backwards.
import type { Collection } from '../store/collection.ts';
import type { Document } from '../store/documents.ts';
import {
  type MemberBody,
  members,
  type OrganisationBody,
  organisations,
  type UserBody,
  users,
  type WorkspaceBody,
  type WorkspaceRole,
  workspaces,
} from './identity-collections.ts';
import {
  SECURITY_CATEGORIES,
  SECURITY_SETTINGS,
  type SecuritySetting,
  type SecuritySettings,
  securitySetting,
} from './security-settings.ts';

/** What the directory holds, and follows. */
export const DIRECTORY_COLLECTIONS: readonly Collection<object>[] = [
  organisations,
  workspaces,
  users,
  members,
];

interface Place {
  readonly workspaceId: string;
  readonly role: WorkspaceRole;
}

/** A workspace's settings of the log. */
export interface LogRules {
  /** False: bodies are not kept. */
  readonly bodies: boolean;
  /** Days that entries are kept; undefined: as long as any. */
  readonly keepDays: number | undefined;
}

function logRulesOf({ settings }: WorkspaceBody): LogRules | undefined {
  const { debug_log: debug, log_retention_days: days } = settings ?? {};
  if (debug !== 0 && days === undefined) return undefined;
  return { bodies: debug !== 0, keepDays: typeof days === 'number' ? days : undefined };
}

/** The snapshot. Ids are looked up within an organisation, so that no caller meets another's. */
export class Directory {
  readonly #versions = new Map<string, number>();
  readonly #organisations = new Map<string, Document<OrganisationBody>>();
  readonly #workspaces = new Map<string, Document<WorkspaceBody>>();
  /** Of the workspaces that have rules of their own. */
  readonly #logRules = new Map<string, LogRules>();
  /** Ids of active ones, by organisation. */
  readonly #workspacesOf = new Map<string, Set<string>>();
  /** By organisation and slug. */
  readonly #slugs = new Map<string, string>();
  readonly #users = new Map<string, Document<UserBody>>();
  readonly #emails = new Map<string, string>();
  /** By user, then by the member document's id. */
  readonly #places = new Map<string, Map<string, Place>>();
  readonly #memberOf = new Map<string, string>();

  /** Takes a document of one of its collections as it is now, archived ones too; an older version is left out. */
  apply(collection: string, document: Document<object>): void {
    const key = `${collection} ${document.id}`;
    if ((this.#versions.get(key) ?? 0) >= document.version) return;
    this.#versions.set(key, document.version);
    if (collection === organisations.name) put(this.#organisations, document as Document<OrganisationBody>);
    else if (collection === workspaces.name) this.#applyWorkspace(document as Document<WorkspaceBody>);
    else if (collection === users.name) this.#applyUser(document as Document<UserBody>);
    else if (collection === members.name) this.#applyMember(document as Document<MemberBody>);
  }

  #applyWorkspace(document: Document<WorkspaceBody>): void {
    const before = this.#workspaces.get(document.id);
    if (before?.slug !== undefined) this.#slugs.delete(`${before.organisationId} ${before.slug}`);
    put(this.#workspaces, document);
    const rules = logRulesOf(document.body);
    if (rules === undefined || document.status !== 'active') this.#logRules.delete(document.id);
    else this.#logRules.set(document.id, rules);
    const own = this.#workspacesOf.get(document.organisationId) ?? new Set<string>();
    this.#workspacesOf.set(document.organisationId, own);
    if (document.status === 'active') own.add(document.id);
    else own.delete(document.id);
    if (document.status === 'active' && document.slug !== undefined)
      this.#slugs.set(`${document.organisationId} ${document.slug}`, document.id);
  }

  #applyUser(document: Document<UserBody>): void {
    const before = this.#users.get(document.id);
    if (before) this.#emails.delete(`${before.organisationId} ${before.body.email}`);
    put(this.#users, document);
    if (document.status === 'active')
      this.#emails.set(`${document.organisationId} ${document.body.email}`, document.id);
  }

  #applyMember(document: Document<MemberBody>): void {
    const { id, workspaceId, body } = document;
    const before = this.#memberOf.get(id);
    if (before !== undefined) this.#places.get(before)?.delete(id);
    this.#memberOf.delete(id);
    if (document.status !== 'active' || workspaceId === undefined) return;
    const places = this.#places.get(body.userId) ?? new Map<string, Place>();
    places.set(id, { workspaceId, role: body.role });
    this.#places.set(body.userId, places);
    this.#memberOf.set(id, body.userId);
  }

  organisation(id: string): Document<OrganisationBody> | undefined {
    return this.#organisations.get(id);
  }

  /** Every organisation of the deployment. */
  organisations(): Iterable<Document<OrganisationBody>> {
    return this.#organisations.values();
  }

  /** Ids of every organisation of the deployment. */
  organisationIds(): Iterable<string> {
    return this.#organisations.keys();
  }

  /** An active workspace of an organisation, by id or slug. */
  workspace(organisationId: string, idOrSlug: string): Document<WorkspaceBody> | undefined {
    const found = this.#workspaces.get(idOrSlug);
    // Another tenant's id may well be a slug of this one.
    if (found?.organisationId === organisationId) return found;
    return this.#workspaces.get(this.#slugs.get(`${organisationId} ${idOrSlug}`) ?? '');
  }

  /** The workspace that an organisation began with. */
  defaultWorkspace(organisationId: string): Document<WorkspaceBody> | undefined {
    for (const id of this.#workspacesOf.get(organisationId) ?? []) {
      const found = this.#workspaces.get(id);
      if (found?.body.isDefault) return found;
    }
    return undefined;
  }

  /** Whether there is more than one active workspace, of all organisations. */
  hasSeveralWorkspaces(): boolean {
    let count = 0;
    for (const own of this.#workspacesOf.values()) {
      count += own.size;
      if (count > 1) return true;
    }
    return false;
  }

  /** Ids of an organisation's active workspaces. */
  workspaceIds(organisationId: string): string[] {
    return [...(this.#workspacesOf.get(organisationId) ?? [])];
  }

  /** An active user of an organisation. */
  user(organisationId: string, id: string): Document<UserBody> | undefined {
    const found = this.#users.get(id);
    return found?.organisationId === organisationId ? found : undefined;
  }

  /** An active user of an organisation, by email in any letter case. */
  userByEmail(organisationId: string, email: string): Document<UserBody> | undefined {
    return this.user(organisationId, this.#emails.get(`${organisationId} ${email.toLowerCase()}`) ?? '');
  }

  /** The workspaces that a user is a member of, with the role there. Owners and admins are not listed: theirs are all. */
  placesOf(userId: string): readonly Place[] {
    return [...(this.#places.get(userId)?.values() ?? [])];
  }

  /** A user's role in a workspace: admin for owners and admins of the organisation; undefined when it has none. */
  roleIn(organisationId: string, workspaceId: string, userId: string): WorkspaceRole | undefined {
    const user = this.user(organisationId, userId);
    if (user === undefined) return undefined;
    if (user.body.role !== 'member') return 'admin';
    for (const place of this.#places.get(userId)?.values() ?? [])
      if (place.workspaceId === workspaceId) return place.role;
    return undefined;
  }

  /** A workspace's settings of the log; undefined when it has none. */
  logRules(workspaceId: string | undefined): LogRules | undefined {
    if (this.#logRules.size === 0 || workspaceId === undefined) return undefined;
    return this.#logRules.get(workspaceId);
  }

  /** Whether a security setting is on in a workspace (or, without one, in the organisation). */
  setting(name: SecuritySetting, organisationId: string, workspaceId: string | undefined): boolean {
    const workspace =
      workspaceId === undefined ? undefined : this.workspace(organisationId, workspaceId)?.body;
    return securitySetting(name, this.#security(organisationId), workspace?.securitySettings);
  }

  /** The effective settings with these overrides of a workspace. */
  settings(organisationId: string, overrides: SecuritySettings | undefined): Record<string, boolean> {
    const organisation = this.#security(organisationId);
    return Object.fromEntries(
      SECURITY_SETTINGS.map((name) => [name, securitySetting(name, organisation, overrides)]),
    );
  }

  /** The effective settings of an organisation, where a workspace has no overrides. */
  organisationSettings(settings: SecuritySettings = {}): Record<string, boolean> {
    const organisation = { settings, open: new Set<string>() };
    return Object.fromEntries(
      SECURITY_SETTINGS.map((name) => [name, securitySetting(name, organisation, undefined)]),
    );
  }

  #security(organisationId: string) {
    const organisation = this.organisation(organisationId)?.body;
    return {
      settings: organisation?.securitySettings ?? {},
      open: new Set<string>(organisation?.openToWorkspaces ?? SECURITY_CATEGORIES),
    };
  }
}

function put<B extends object>(map: Map<string, Document<B>>, document: Document<B>): void {
  if (document.status === 'active') map.set(document.id, document);
  else map.delete(document.id);
}
