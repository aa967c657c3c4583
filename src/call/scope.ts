// The tenant whose data a call may see.

/** The first argument of every tenant's call, so that no query can forget it. */
export interface TenantScope {
  readonly organisationId: string;
  /** Undefined: all workspaces of the organisation, and what belongs to the organisation itself. */
  readonly workspaceId: string | undefined;
}
