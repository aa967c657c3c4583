// Stored configs in memory: a call that names one makes no round trip.

import type { TenantScope } from '../call/scope.ts';
import type { Document } from '../store/documents.ts';
import type { ConfigBody } from './config-collections.ts';

/** A config as calls use it. The object is the same one until the config changes. */
export interface StoredConfig {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly workspaceId: string;
  /** Another one with every content. */
  readonly version: string;
  readonly json: object;
}

/** The active configs of all workspaces. Documents come in the order of their versions. */
export class ConfigCatalogue {
  readonly #byId = new Map<string, StoredConfig & { readonly organisationId: string }>();
  /** By organisation and slug. */
  readonly #bySlug = new Map<string, string>();
  /** By workspace. */
  readonly #defaults = new Map<string, string>();

  /** Takes a document as it is now, archived ones too. */
  apply(document: Document<ConfigBody>): void {
    const { id, organisationId, workspaceId = '', slug = '', status, body } = document;
    const before = this.#byId.get(id);
    if (status === 'archived') {
      this.#byId.delete(id);
      if (this.#bySlug.get(`${organisationId} ${slug}`) === id)
        this.#bySlug.delete(`${organisationId} ${slug}`);
    } else {
      // A new name is no new content: what was made of the content stays.
      const json = before?.version === body.versionId ? before.json : body.config;
      const { name, versionId: version } = body;
      this.#byId.set(id, { id, slug, name, organisationId, workspaceId, version, json });
      this.#bySlug.set(`${organisationId} ${slug}`, id);
    }
    if (status === 'active' && body.isDefault) this.#defaults.set(workspaceId, id);
    else if (this.#defaults.get(workspaceId) === id) this.#defaults.delete(workspaceId);
  }

  /** An active config of a workspace, by id or slug; another workspace's is none. */
  find({ organisationId, workspaceId }: TenantScope, idOrSlug: string): StoredConfig | undefined {
    const found =
      this.#byId.get(idOrSlug) ?? this.#byId.get(this.#bySlug.get(`${organisationId} ${idOrSlug}`) ?? '');
    return found?.organisationId === organisationId && found.workspaceId === workspaceId ? found : undefined;
  }

  /** The configs of a workspace, or of all, that name one of these configs or guardrails. */
  referring(
    { organisationId, workspaceId }: TenantScope,
    kind: 'config' | 'guardrail',
    names: readonly string[],
  ): readonly StoredConfig[] {
    return [...this.#byId.values()].filter(
      (one) =>
        one.organisationId === organisationId &&
        (workspaceId === undefined || one.workspaceId === workspaceId) &&
        NAMES[kind](one.json, names),
    );
  }

  /** A workspace's default. */
  defaultOf({ workspaceId = '' }: TenantScope): StoredConfig | undefined {
    return this.#byId.get(this.#defaults.get(workspaceId) ?? '');
  }

  /** How many there are. */
  get size(): number {
    return this.#byId.size;
  }
}

const NAMES = { config: namesConfig, guardrail: namesGuardrail } as const;

/** Whether a config, or a target in it, names one of the given ones. */
function namesConfig(json: object, names: readonly string[]): boolean {
  return Object.entries(json).some(([member, value]: [string, unknown]) => {
    if (member === 'config' && typeof value === 'string') return names.includes(value);
    return typeof value === 'object' && value !== null && namesConfig(value, names);
  });
}

const LISTS =
  /^(?:default_?)?(?:(?:input|output)_?(?:guardrails|mutators)|(?:before|after)_?request_?hooks)$/i;

/** Whether a config, or a target in it, names one of the guardrails. */
function namesGuardrail(json: object, names: readonly string[]): boolean {
  return Object.entries(json).some(([member, value]: [string, unknown]) => {
    if (LISTS.test(member) && Array.isArray(value))
      return value.some((item: unknown) => names.includes(typeof item === 'string' ? item : idOf(item)));
    return typeof value === 'object' && value !== null && namesGuardrail(value, names);
  });
}

function idOf(hook: unknown): string {
  const { id } = (hook ?? {}) as { readonly id?: unknown };
  return typeof id === 'string' ? id : '';
}
