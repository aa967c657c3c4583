// From the text of x-gateway-config to a plan, by way of the cache.
import type { TenantScope } from '../../call/scope.ts';
import { fail, invalidHeader } from '../../lib/errors.ts';
import { theNearest } from '../../lib/nearest-names.ts';
import { configInvalid, parseConfig } from './parse-config.ts';
import type { ParseDeps } from './parse-deps.ts';
import type { WholePlan } from './plan.ts';
import { PlanCache } from './plan-cache.ts';
import type { PlanDeps, SavedConfig } from './plan-deps.ts';
import { NO_TENANT } from './planned-call.ts';
import { mayRefer, type References, readReferences } from './references.ts';
import { parseHeaderJson } from './request-settings.ts';
import { slugFault } from './selection.ts';

const SLUG = /^[A-Za-z0-9_-]{1,64}$/;

/** Makes plans of configs, and keeps them. */
export class Configs {
  readonly #deps: PlanDeps;
  readonly #cache = new PlanCache();
  readonly #refers = new WeakMap<SavedConfig, boolean>();

  constructor(deps: PlanDeps) {
    this.#deps = deps;
  }

  /**
   * The plan of a config: its JSON as text, or a saved one's id. At once when nothing must be looked up.
   * @param header the header's name, for errors
   * @param named is told a saved config's slug
   * @throws GatewayError of status 400: invalid_header, or config_invalid with every fault
   */
  read(
    text: string,
    header: string,
    tenant: TenantScope,
    named?: (slug: string) => void,
  ): WholePlan | Promise<WholePlan> {
    const inline = text.trimStart().startsWith('{');
    if (inline && !mayRefer(text)) {
      const kept = this.#cache.get(text);
      if (kept !== undefined) return kept;
      const plan = this.parse(parseHeaderJson(header, text), NO_REFERENCES);
      this.#cache.set(text, plan);
      return plan;
    }
    if (inline)
      return this.#referring(parseHeaderJson(header, text), `inline\0${text}`, '', tenant, undefined);
    if (!SLUG.test(text)) throw invalidHeader(header, 'must be a JSON object or the id of a saved config');
    const saved = this.#deps.resolveConfig(tenant, text);
    const plan = (found: SavedConfig | undefined): WholePlan | Promise<WholePlan> => {
      if (found === undefined)
        throw fail(
          'config_invalid',
          `there is no saved config ${text}${theNearest(text, this.#deps.configSlugs?.(tenant) ?? [])}`,
          { param: header },
        );
      named?.(found.slug ?? found.id);
      return this.saved(found, tenant);
    };
    return saved instanceof Promise ? saved.then(plan) : plan(saved);
  }

  /** The plan of a saved config. At once when it refers to nothing. @throws GatewayError config_invalid */
  saved(config: SavedConfig, tenant: TenantScope): WholePlan | Promise<WholePlan> {
    const { id, version, json } = config;
    let refers = this.#refers.get(config);
    if (refers === undefined) {
      refers = mayRefer(JSON.stringify(json));
      this.#refers.set(config, refers);
    }
    if (refers) return this.#referring(json, `saved\0${id}`, version, tenant, id);
    const key = `saved\0${id}\0${version}`;
    const kept = this.#cache.get(key);
    if (kept !== undefined) return kept;
    const plan = this.parse(json, NO_REFERENCES, id);
    this.#cache.set(key, plan);
    return plan;
  }

  /** The plan of a config's JSON, with all that it refers to. @throws GatewayError config_invalid. */
  async readJson(json: unknown, tenant: TenantScope): Promise<WholePlan> {
    return this.parse(json, await readReferences(json, tenant, this.#deps), undefined, tenant);
  }

  parse(json: unknown, references: References, slug?: string, tenant: TenantScope = NO_TENANT): WholePlan {
    const { plan, faults } = parseConfig(json, this.#parseDeps(references, tenant), slug);
    if (faults !== undefined) throw configInvalid(faults);
    return plan;
  }

  /** A plan that others' changes change: kept under the versions of what it refers to. */
  async #referring(
    json: unknown,
    name: string,
    version: string,
    tenant: TenantScope,
    slug: string | undefined,
  ): Promise<WholePlan> {
    const references = await readReferences(json, tenant, this.#deps);
    const versions = [...references.configs].map(([at, config]) => `${at}=${config.id}:${config.version}`);
    const slugs = [...references.providers.keys()];
    const { organisationId, workspaceId } = tenant;
    const key = [organisationId, workspaceId ?? '', name, version, ...versions, ...slugs].join('\0');
    const kept = this.#cache.get(key);
    if (kept !== undefined) return kept;
    const plan = this.parse(json, references, slug, tenant);
    this.#cache.set(key, plan);
    return plan;
  }

  #parseDeps({ configs, providers }: References, tenant: TenantScope): ParseDeps {
    return {
      ...this.#deps,
      hasProvider: (slug) => providers.has(slug),
      slugFault: (slug) => slugFault(tenant, this.#deps, slug),
      mayOverride: (slug) => providers.get(slug)?.mayOverride === true,
      savedConfig: (slug) => configs.get(slug)?.json,
    };
  }
}

const NO_REFERENCES: References = { configs: new Map(), providers: new Map() };
