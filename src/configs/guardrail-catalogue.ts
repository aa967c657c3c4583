// Saved guardrails in memory: a call that passes one makes no round trip.

import type { TenantScope } from '../call/scope.ts';
import type { JsonObject } from '../store/collection.ts';
import type { Document } from '../store/documents.ts';
import type { GuardrailBody } from './config-collections.ts';

/** A guardrail as calls use it. The object is the same one until the guardrail changes. */
export interface StoredGuardrail {
  readonly id: string;
  readonly slug: string;
  readonly organisationId: string;
  /** Undefined: every workspace of the organisation may name it. */
  readonly workspaceId: string | undefined;
  /** `{checks, actions, version_id}`. */
  readonly json: JsonObject;
}

/** The active guardrails of all organisations. Documents come in the order of their versions. */
export class GuardrailCatalogue {
  readonly #byId = new Map<string, StoredGuardrail>();
  /** By organisation and slug. */
  readonly #bySlug = new Map<string, string>();
  #revision = 0;

  /** Takes a document as it is now, archived ones too. */
  apply({ id, organisationId, workspaceId, slug = '', status, body }: Document<GuardrailBody>): void {
    this.#revision += 1;
    const name = `${organisationId} ${slug}`;
    if (status === 'archived') {
      this.#byId.delete(id);
      if (this.#bySlug.get(name) === id) this.#bySlug.delete(name);
      return;
    }
    const json = { checks: body.checks, actions: body.actions, version_id: body.versionId };
    this.#byId.set(id, { id, slug, organisationId, workspaceId, json });
    this.#bySlug.set(name, id);
  }

  /** An active guardrail that a workspace may name, by id or slug: its own or the organisation's. */
  find({ organisationId, workspaceId }: TenantScope, idOrSlug: string): StoredGuardrail | undefined {
    const found =
      this.#byId.get(idOrSlug) ?? this.#byId.get(this.#bySlug.get(`${organisationId} ${idOrSlug}`) ?? '');
    if (found?.organisationId !== organisationId) return undefined;
    return found.workspaceId === undefined || found.workspaceId === workspaceId ? found : undefined;
  }

  /** Another number with every change of any of them. */
  get revision(): number {
    return this.#revision;
  }
}
