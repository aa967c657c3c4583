// Stored configs in memory: a call that names one makes no round trip.

import type { TenantScope } from '../call/scope.ts';
import type { Document } from '../store/documents.ts';
import { Replica } from '../store/replica.ts';
import { type ConfigBody, configs } from './config-collections.ts';

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

/** The active configs of all workspaces. */
export class ConfigCatalogue {
  /** By workspace. */
  readonly #defaults = new Map<string, string>();
  readonly replica: Replica<ConfigBody, StoredConfig> = new Replica(configs, {
    row: storedConfig,
    nameOf: ({ slug }) => slug,
    changed: (_now, _before, document) => this.#changeDefault(document),
  });

  #changeDefault({ id, workspaceId = '', status, body }: Document<ConfigBody>): void {
    if (status === 'active' && body.isDefault) this.#defaults.set(workspaceId, id);
    else if (this.#defaults.get(workspaceId) === id) this.#defaults.delete(workspaceId);
  }

  /** An active config of a workspace, by id or slug; another workspace's is none. */
  find({ organisationId, workspaceId }: TenantScope, idOrSlug: string): StoredConfig | undefined {
    const found = this.replica.find(organisationId, idOrSlug);
    return found?.workspaceId === workspaceId ? found : undefined;
  }

  /** The configs of a workspace, or of all, that name one of these configs or guardrails. */
  referring(
    { organisationId, workspaceId }: TenantScope,
    kind: 'config' | 'guardrail',
    names: readonly string[],
  ): readonly StoredConfig[] {
    return [...this.replica.of(organisationId).values()].filter(
      (one) => (workspaceId === undefined || one.workspaceId === workspaceId) && NAMES[kind](one.json, names),
    );
  }

  /** Slugs of a workspace's configs. */
  slugsOf({ organisationId, workspaceId }: TenantScope): string[] {
    return [...this.replica.of(organisationId).values()]
      .filter((one) => one.workspaceId === workspaceId)
      .map(({ slug }) => slug);
  }

  /** A workspace's default. */
  defaultOf({ organisationId, workspaceId = '' }: TenantScope): StoredConfig | undefined {
    const id = this.#defaults.get(workspaceId);
    return id === undefined ? undefined : this.replica.get(organisationId, id);
  }
}

function storedConfig(
  { id, workspaceId = '', slug = '', body }: Document<ConfigBody>,
  before: StoredConfig | undefined,
): StoredConfig {
  const { name, versionId: version } = body;
  // A new name is no new content: what was made of the content stays.
  const json = before?.version === version ? before.json : body.config;
  return { id, slug, name, workspaceId, version, json };
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
