// The directory in memory: organisations, workspaces, users and their places. It is read on every
// call and makes no round trip; it follows the stores' change notices and never goes backwards.
import type { Document } from '../store/documents.ts';
import { Replica } from '../store/replica.ts';
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

interface Place {
  readonly userId: string;
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

/** A user as calls need it; undefined for deactivated ones. */
function activeUser(document: Document<UserBody>): Document<UserBody> | undefined {
  const { scim, inactive, ...body } = document.body;
  if (inactive) return undefined;
  return scim === undefined ? document : { ...document, body };
}

/** The snapshot. Ids are looked up within an organisation, so that no caller meets another's. */
export class Directory {
  readonly #organisations = new Replica(organisations, { row: (document) => document });
  readonly #workspaces = new Replica(workspaces, {
    row: (document) => document,
    nameOf: ({ slug }) => slug,
    changed: (now, _before, { id }) => {
      const rules = now && logRulesOf(now.body);
      if (rules === undefined) this.#logRules.delete(id);
      else this.#logRules.set(id, rules);
    },
  });
  /** Of the workspaces that have rules of their own. */
  readonly #logRules = new Map<string, LogRules>();
  readonly #users = new Replica(users, { row: activeUser, nameOf: ({ body }) => body.email });
  readonly #members: Replica<MemberBody, Place> = new Replica(members, {
    row: ({ workspaceId, body: { userId, role } }) =>
      workspaceId === undefined ? undefined : { userId, workspaceId, role },
    groupOf: ({ userId }) => userId,
  });
  readonly replicas = [this.#organisations, this.#workspaces, this.#users, this.#members] as const;

  organisation(id: string): Document<OrganisationBody> | undefined {
    return this.#organisations.get(id, id);
  }

  /** Every organisation of the deployment. */
  organisations(): Iterable<Document<OrganisationBody>> {
    return this.#organisations.all();
  }

  /** Ids of every organisation of the deployment. */
  *organisationIds(): Iterable<string> {
    for (const { id } of this.#organisations.all()) yield id;
  }

  /** An active workspace of an organisation, by id or slug. */
  workspace(organisationId: string, idOrSlug: string): Document<WorkspaceBody> | undefined {
    return this.#workspaces.find(organisationId, idOrSlug);
  }

  /** The workspace that an organisation began with. */
  defaultWorkspace(organisationId: string): Document<WorkspaceBody> | undefined {
    for (const found of this.#workspaces.of(organisationId).values()) if (found.body.isDefault) return found;
    return undefined;
  }

  /** Whether there is more than one active workspace, of all organisations. */
  hasSeveralWorkspaces(): boolean {
    return this.#workspaces.size > 1;
  }

  /** Ids of an organisation's active workspaces. */
  workspaceIds(organisationId: string): string[] {
    return [...this.#workspaces.of(organisationId).keys()];
  }

  /** An active user of an organisation. */
  user(organisationId: string, id: string): Document<UserBody> | undefined {
    return this.#users.get(organisationId, id);
  }

  /** An active user of an organisation, by email in any letter case. */
  userByEmail(organisationId: string, email: string): Document<UserBody> | undefined {
    return this.#users.named(organisationId, email.toLowerCase());
  }

  /** The workspaces that a user is a member of, with the role there. Owners and admins are not listed: theirs are all. */
  placesOf(userId: string): readonly Place[] {
    return [...this.#members.group(userId)];
  }

  /** A user's role in a workspace: admin for owners and admins of the organisation; undefined when it has none. */
  roleIn(organisationId: string, workspaceId: string, userId: string): WorkspaceRole | undefined {
    const user = this.user(organisationId, userId);
    if (user === undefined) return undefined;
    if (user.body.role !== 'member') return 'admin';
    for (const place of this.#members.group(userId)) if (place.workspaceId === workspaceId) return place.role;
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
