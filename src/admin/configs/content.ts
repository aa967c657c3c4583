// A config's content as it comes with a request, and its validation.
import type { ConfigContent } from '../../../gen/gateway/admin/v2/configs_pb.ts';
import type { TenantScope } from '../../call/scope.ts';
import { configs } from '../../configs/config-collections.ts';
import type { Fault } from '../../inference/plan/faults.ts';
import { parseConfig } from '../../inference/plan/parse-config.ts';
import type { PlanDeps } from '../../inference/plan/plan-deps.ts';
import { readReferences } from '../../inference/plan/references.ts';
import { slugFault } from '../../inference/plan/selection.ts';
import { fail, type GatewayError, invalidField } from '../../lib/errors.ts';
import { nextTurn } from '../../lib/time-slices.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { DocumentStore } from '../../store/documents.ts';
import { unmasked } from '../kit/masked-secrets.ts';

const MOST_CHARACTERS = 262_144;
const MAX_DEPTH = 64;
const MOST_TEXT = 4000;
/** The most stored guardrails that a config names. */
const MOST_GUARDRAILS = 100;

/** What configs are validated with, in addition to the store's data. */
export interface ConfigRules {
  readonly plans: Omit<PlanDeps, 'resolveConfig' | 'resolveProvider'>;
  /** Stored providers; undefined: they are not known. */
  readonly resolveProvider: PlanDeps['resolveProvider'] | undefined;
  /** Why a workspace may not name a saved guardrail; undefined when it may. */
  readonly guardrailFault: (
    tenant: TenantScope,
    idOrSlug: string,
    event: 'input' | 'output',
  ) => Promise<string | undefined>;
}

/** A saved guardrail as a config names it. */
interface NamedGuardrail {
  readonly id: string;
  readonly event: 'input' | 'output';
  readonly path: string;
}

/** Whose content it is. */
export interface ContentOwner {
  readonly tenant: TenantScope;
  readonly id: string;
  readonly slug: string;
  /** The content before. */
  readonly before: JsonObject | undefined;
}

/** The content as an object. @throws GatewayError validation_failed when it is none, too large or too deep. */
export function contentOf(given: ConfigContent): JsonObject {
  const json = given.value.case === 'object' ? given.value.value : parsed(given.value.value ?? '');
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalidField('config', 'must be an object, or its JSON text');
  if (Object.keys(json).length === 0) throw invalidField('config', 'must not be empty');
  if (!shallow(json as Json, MAX_DEPTH))
    throw invalidField('config', `must not be nested deeper than ${MAX_DEPTH} levels`);
  if (JSON.stringify(json).length > MOST_CHARACTERS)
    throw invalidField('config', `must have at most ${MOST_CHARACTERS} characters as JSON`);
  return json as JsonObject;
}

/** The content to keep: masks in it replaced. @throws GatewayError config_invalid with every fault and its path. */
export async function checkedContent(
  documents: DocumentStore,
  rules: ConfigRules,
  owner: ContentOwner,
  given: ConfigContent,
): Promise<JsonObject> {
  const faults: Fault[] = [];
  // Each step of a long config takes a turn of the event loop of its own.
  const content = contentOf(given);
  await nextTurn();
  const json = unmasked(content, owner.before, faults);
  const deps = factsOf(documents, rules, owner, json);
  const references = await readReferences(json, owner.tenant, deps);
  await nextTurn();
  const named: NamedGuardrail[] = [];
  const found = parseConfig(
    json,
    {
      ...rules.plans,
      hasProvider: (slug) => rules.resolveProvider === undefined || references.providers.has(slug),
      slugFault: (slug) => slugFault(owner.tenant, rules.plans, slug),
      mayOverride: (slug) => references.providers.get(slug)?.mayOverride === true,
      savedConfig: (slug) => references.configs.get(slug)?.json,
      readGuardrails(level, path, wrong, limits) {
        const guardrails = rules.plans.readGuardrails(level, path, wrong, limits);
        named.push(...((guardrails as { readonly saved?: typeof named } | undefined)?.saved ?? []));
        return guardrails;
      },
    },
    owner.slug,
  );
  faults.push(...(found.faults ?? []));
  faults.push(...(await guardrailFaults(rules, owner.tenant, named)));
  if (faults.length > 0) throw invalidContent(faults);
  return json;
}

/** Each guardrail is looked up once, however often it is named. */
async function guardrailFaults(
  rules: ConfigRules,
  tenant: TenantScope,
  named: readonly NamedGuardrail[],
): Promise<readonly Fault[]> {
  const known = new Map<string, string | undefined>();
  const faults: Fault[] = [];
  for (const { id, event, path } of named) {
    const key = `${event} ${id}`;
    if (!known.has(key)) {
      if (known.size >= MOST_GUARDRAILS)
        return [...faults, { path, message: `names more than ${MOST_GUARDRAILS} saved guardrails` }];
      known.set(key, await rules.guardrailFault(tenant, id, event));
    }
    const message = known.get(key);
    if (message !== undefined) faults.push({ path, message });
  }
  return faults;
}

/** The planner's dependencies over the store itself: a document that was just stored counts. */
function factsOf(
  documents: DocumentStore,
  { plans, resolveProvider = () => undefined }: ConfigRules,
  { id, slug, tenant }: ContentOwner,
  json: JsonObject,
): PlanDeps {
  return {
    ...plans,
    resolveProvider,
    async resolveConfig(_, name) {
      if (name === id || name === slug) return { id, version: '', json };
      const found = await documents.get(tenant, configs, name);
      return found && { id: found.id, version: found.body.versionId, json: found.body.config };
    },
  };
}

function invalidContent(faults: readonly Fault[]): GatewayError {
  const violations = faults
    .map(({ path, message }) => ({
      field: path === '' || path === 'config' ? 'config' : `config.${path}`,
      rule: 'config',
      message,
    }))
    .sort((a, b) => (a.field < b.field ? -1 : 1));
  const text = violations.map(({ field, message }) => `${field}: ${message}`).join('; ');
  const shown = text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)} ...` : text;
  return fail('config_invalid', `invalid config: ${shown}`, { param: violations[0]!.field, violations });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidField('config', 'must be an object, or its JSON text');
  }
}

function shallow(value: Json, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner: Json) => shallow(inner, depth - 1));
}
