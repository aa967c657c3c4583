// Groups of identity providers in memory: which groups a user is in.
import { Replica } from '../../store/replica.ts';
import { type ScimGroupBody, scimGroups } from './scim-collections.ts';

interface GroupRow {
  readonly id: string;
  readonly name: string;
  readonly members: ReadonlySet<string>;
}

export class ScimGroups {
  readonly replica: Replica<ScimGroupBody, GroupRow> = new Replica<ScimGroupBody, GroupRow>(scimGroups, {
    row: ({ id, body }) => ({ id, name: body.displayName, members: new Set(body.members) }),
  });

  /** The groups of a user. */
  of(organisationId: string, userId: string): readonly { readonly id: string; readonly name: string }[] {
    return [...this.replica.of(organisationId).values()].filter(({ members }) => members.has(userId));
  }

  /** How many groups an organisation has. */
  count(organisationId: string): number {
    return this.replica.of(organisationId).size;
  }
}
