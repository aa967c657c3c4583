// What SCIM is made with, and what a request brings.
import type { SystemAction } from '../../access/audit/system-changes.ts';
import type { KeyHasher } from '../../access/key-hash.ts';
import type { ScimGroups } from '../../access/scim/scim-groups.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import type { GrantDeps } from '../kit/group-grants.ts';

export interface ScimDeps extends GrantDeps {
  readonly hasher: KeyHasher;
  readonly scimGroups: ScimGroups;
  /** Where people reach the gateway, e.g. `https://gateway.example.com`. */
  readonly publicUrl: () => string;
}

/** Whose request it is. */
export interface ScimCaller {
  readonly organisationId: string;
  /** For audit entries. */
  readonly by: NonNullable<SystemAction['by']>;
}

/** A kind of resource: how it is stored, shown, made, replaced and taken away. */
export interface ScimResource<B extends object> {
  /** What callers are shown. @param shows whether an attribute is needed at all */
  show(document: Document<B>): JsonObject;
  make(caller: ScimCaller, given: JsonObject): Promise<Document<B>>;
  replace(caller: ScimCaller, before: Document<B>, given: JsonObject): Promise<Document<B>>;
  remove(caller: ScimCaller, before: Document<B>): Promise<void>;
}
