// Saved guardrails in memory: a call that passes one makes no round trip.

import type { TenantScope } from '../call/scope.ts';
import type { JsonObject } from '../store/collection.ts';
import { Replica } from '../store/replica.ts';
import { type GuardrailBody, guardrails } from './config-collections.ts';

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

/** The active guardrails of all organisations. */
export class GuardrailCatalogue {
  #revision = 0;
  readonly replica = new Replica<GuardrailBody, StoredGuardrail>(guardrails, {
    row: ({ id, organisationId, workspaceId, slug = '', body }) => {
      const json = { checks: body.checks, actions: body.actions, version_id: body.versionId };
      return { id, slug, organisationId, workspaceId, json };
    },
    nameOf: ({ slug }) => slug,
    changed: () => {
      this.#revision += 1;
    },
  });

  /** An active guardrail that a workspace may name, by id or slug: its own or the organisation's. */
  find({ organisationId, workspaceId }: TenantScope, idOrSlug: string): StoredGuardrail | undefined {
    const found = this.replica.find(organisationId, idOrSlug);
    return found?.workspaceId === undefined || found.workspaceId === workspaceId ? found : undefined;
  }

  /** Another number with every change of any of them. */
  get revision(): number {
    return this.#revision;
  }
}
