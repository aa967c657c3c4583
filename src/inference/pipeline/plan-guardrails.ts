// Saved guardrails in plans: the names that a config's targets carry, and those that every call of a workspace
// passes, replaced by hooks that can run. A plan without any stays as it is.
import type { TenantScope } from '../../call/scope.ts';
import {
  joinGuardrails,
  type PathFault,
  parseSavedGuardrail,
  type SavedGuardrail,
  withSaved,
} from '../../checks/guardrails.ts';
import type { Guardrails, Hook } from '../../checks/hook.ts';
import { fail } from '../../lib/errors.ts';
import { type Plan, targetsOf, type WholePlan, wholePlan } from '../plan/plan.ts';

type Event = SavedGuardrail['event'];

/** Tenants whose form of one plan is kept: plans without a config are everybody's. */
const MOST_TENANTS = 1000;

/** What is saved. */
export interface GuardrailSource {
  /** Another number with every change of any guardrail. */
  revision(): number;
  /** A guardrail that a tenant may name; `json` is the same object until it changes. */
  find(tenant: TenantScope, idOrSlug: string): { readonly id: string; readonly json: object } | undefined;
  /** What every call of a tenant passes; the same object until it changes. */
  defaultsOf(tenant: TenantScope): Readonly<Record<Event, readonly string[]>> | undefined;
}

interface Made {
  readonly revision: number;
  readonly defaults: object | undefined;
  readonly plan: WholePlan;
}

/** Puts guardrails into plans, and keeps what it made until something changes. */
export class PlanGuardrails {
  readonly #source: GuardrailSource;
  readonly #hooks = new WeakMap<object, Map<string, Hook>>();
  /** What a hook was made of: one that every call passes counts for the same one that a config names. */
  readonly #madeOf = new WeakMap<Hook, object>();
  readonly #naming = new WeakMap<WholePlan, boolean>();
  readonly #made = new WeakMap<WholePlan, Map<string, Made>>();

  constructor(source: GuardrailSource) {
    this.#source = source;
  }

  /** The plan with its hooks. @throws GatewayError config_invalid for a name that is none. */
  guarded(plan: WholePlan, tenant: TenantScope): WholePlan {
    const defaults = this.#source.defaultsOf(tenant);
    if (defaults === undefined && !this.#names(plan)) return plan;
    const revision = this.#source.revision();
    const at = `${tenant.organisationId} ${tenant.workspaceId ?? ''}`;
    const known = this.#made.get(plan) ?? new Map<string, Made>();
    const before = known.get(at);
    if (before?.revision === revision && before.defaults === defaults) return before.plan;
    const made = wholePlan(this.#put(plan.root, this.#defaults(defaults, tenant), tenant), plan.id);
    if (known.size >= MOST_TENANTS) known.clear();
    known.set(at, { revision, defaults, plan: made });
    this.#made.set(plan, known);
    return made;
  }

  /** One guardrail by itself. @throws GatewayError not_found */
  one(tenant: TenantScope, idOrSlug: string, event: Event): Hook {
    if (this.#source.find(tenant, idOrSlug) === undefined)
      throw fail('not_found', `there is no guardrail ${idOrSlug}`);
    return this.#hook({ id: idOrSlug, event, path: 'guardrail_id' }, tenant, false);
  }

  /** Whether a target names a saved guardrail. */
  #names(plan: WholePlan): boolean {
    let names = this.#naming.get(plan);
    if (names === undefined) {
      names = targetsOf(plan.root).some(({ guardrails }) => (savedOf(guardrails)?.length ?? 0) > 0);
      this.#naming.set(plan, names);
    }
    return names;
  }

  #put<P extends Plan>(plan: P, defaults: Guardrails | undefined, tenant: TenantScope): P {
    if (plan.kind !== 'target')
      return { ...plan, targets: plan.targets.map((target) => this.#put(target, defaults, tenant)) };
    const own = plan.guardrails as Guardrails | undefined;
    const resolved = own && withSaved(own, (saved) => this.#hook(saved, tenant, false));
    if (resolved !== undefined) requireFew(resolved, plan.path);
    return { ...plan, guardrails: this.#once(joinGuardrails(defaults, resolved)) };
  }

  #defaults(
    defaults: Readonly<Record<Event, readonly string[]>> | undefined,
    tenant: TenantScope,
  ): Guardrails | undefined {
    if (defaults === undefined) return undefined;
    const hooks = (event: Event): Hook[] =>
      defaults[event].map((id, i) =>
        this.#hook({ id, event, path: `defaults.${event}_guardrails[${i}]` }, tenant, true),
      );
    return { input: hooks('input'), output: hooks('output'), saved: [] };
  }

  #hook({ id, event, path }: SavedGuardrail, tenant: TenantScope, mandatory: boolean): Hook {
    const found = this.#source.find(tenant, id);
    if (found === undefined) throw invalid(path, `there is no saved guardrail ${id}`);
    const hooks = this.#hooks.get(found.json) ?? new Map<string, Hook>();
    this.#hooks.set(found.json, hooks);
    const key = `${event} ${mandatory}`;
    let hook = hooks.get(key);
    if (hook === undefined) {
      const faults: PathFault[] = [];
      hook = parseSavedGuardrail(found.json, found.id, event, '', faults, mandatory);
      if (hook === undefined)
        throw invalid(path, `the saved guardrail ${id}: ${faults[0]?.message ?? 'cannot run here'}`);
      hooks.set(key, hook);
      this.#madeOf.set(hook, found.json);
    }
    return hook;
  }

  /** A saved guardrail that is named in several places stands once, where it is named first. */
  #once(guardrails: Guardrails | undefined): Guardrails | undefined {
    if (guardrails === undefined) return undefined;
    const { input, output, saved } = guardrails;
    const first = (hooks: readonly Hook[]): Hook[] => {
      const seen = new Set<object>();
      return hooks.filter((hook) => {
        const of = this.#madeOf.get(hook) ?? hook;
        return !seen.has(of) && seen.add(of);
      });
    };
    return { input: first(input), output: first(output), saved };
  }
}

/** Checks of one side of a target, those of saved guardrails included. */
const MOST_CHECKS = 200;

/** @throws GatewayError config_invalid */
function requireFew(guardrails: Guardrails, path: string): void {
  for (const event of ['input', 'output'] as const) {
    const checks = guardrails[event].reduce((sum, hook) => sum + hook.checks.length, 0);
    if (checks > MOST_CHECKS)
      throw invalid(
        `${path}.${event}_guardrails`.replace(/^config\./, ''),
        `${checks} checks with those of the saved guardrails: at most ${MOST_CHECKS}`,
      );
  }
}

function savedOf(guardrails: object | undefined): readonly SavedGuardrail[] | undefined {
  return (guardrails as Guardrails | undefined)?.saved;
}

function invalid(path: string, message: string) {
  return fail('config_invalid', `invalid config: ${path}: ${message}`, {
    param: path,
    violations: [{ field: path, rule: 'config', message }],
  });
}
