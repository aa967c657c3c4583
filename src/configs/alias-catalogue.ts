// Model aliases in memory: a call that names one makes no round trip.

import type { TenantScope } from '../call/scope.ts';
import { Replica } from '../store/replica.ts';
import { type ModelAliasBody, modelAliases } from './config-collections.ts';

/** An alias as calls use it. */
export interface StoredAlias {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly configId: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** The active aliases of all organisations. */
export class AliasCatalogue {
  readonly replica = new Replica<ModelAliasBody, StoredAlias>(modelAliases, {
    row: ({ id, workspaceId = '', createdAt, body }) => ({
      id,
      workspaceId,
      name: body.name,
      configId: body.configId,
      createdAt,
    }),
    nameOf: ({ workspaceId, name }) => `${workspaceId} ${name}`,
  });

  /** The alias of a workspace. */
  find({ organisationId, workspaceId }: TenantScope, name: string): StoredAlias | undefined {
    if (this.replica.size === 0 || workspaceId === undefined) return undefined;
    return this.replica.named(organisationId, `${workspaceId} ${name}`);
  }

  /** The aliases of a workspace, by name. */
  of({ organisationId, workspaceId }: TenantScope): StoredAlias[] {
    return [...this.replica.of(organisationId).values()]
      .filter((alias) => alias.workspaceId === workspaceId)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
