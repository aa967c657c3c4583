// What a config refers to, read before it is parsed: parsing itself waits for nothing.
import type { TenantScope } from '../../call/scope.ts';
import { isObject } from './faults.ts';
import type { PlanDeps, SavedConfig, StoredProvider } from './plan-deps.ts';

/** Levels that are followed; a deeper config is refused by its parser. */
const MAX_LEVELS = 64;
/** References of a config, those of referred ones included. */
const MOST_REFERENCES = 200;

/** What the slugs of a config stand for. */
export interface References {
  readonly configs: ReadonlyMap<string, SavedConfig>;
  readonly providers: ReadonlyMap<string, StoredProvider>;
}

interface Slugs {
  readonly configs: Set<string>;
  readonly providers: Set<string>;
}

/** Whether the text of a config may refer to anything: then its plan is its tenant's own. */
export function mayRefer(text: string): boolean {
  return text.includes('"@') || /"(config|virtual_key|virtualKey)"/.test(text);
}

/** Looks up everything that a config refers to; what is not there is absent. */
export async function readReferences(
  json: unknown,
  tenant: TenantScope,
  deps: PlanDeps,
): Promise<References> {
  const configs = new Map<string, SavedConfig>();
  const providers = new Map<string, StoredProvider>();
  const asked = new Set<string>();
  let waiting = [json];
  while (waiting.length > 0) {
    const slugs: Slugs = { configs: new Set(), providers: new Set() };
    for (const one of waiting) collect(one, slugs, 0);
    waiting = [];
    for (const slug of slugs.providers) {
      if (providers.has(slug) || asked.size >= MOST_REFERENCES) continue;
      asked.add(`@${slug}`);
      const found = await (deps.peekProvider ?? deps.resolveProvider)(tenant, slug);
      if (found !== undefined) providers.set(slug, found);
    }
    for (const slug of slugs.configs) {
      if (asked.has(slug) || asked.size >= MOST_REFERENCES) continue;
      asked.add(slug);
      const found = await deps.resolveConfig(tenant, slug);
      if (found === undefined) continue;
      configs.set(slug, found);
      waiting.push(found.json);
    }
  }
  return { configs, providers };
}

function collect(json: unknown, slugs: Slugs, depth: number): void {
  if (!isObject(json) || depth > MAX_LEVELS) return;
  const { config, provider, targets } = json;
  const virtualKey = json.virtual_key ?? json.virtualKey;
  if (typeof config === 'string') slugs.configs.add(config);
  if (typeof provider === 'string' && provider.startsWith('@')) slugs.providers.add(provider.slice(1));
  if (typeof virtualKey === 'string') slugs.providers.add(virtualKey.replace(/^@/, ''));
  if (isObject(json.cache)) collect(json.cache.embeddings, slugs, depth + 1);
  if (Array.isArray(targets)) for (const target of targets) collect(target, slugs, depth + 1);
}
