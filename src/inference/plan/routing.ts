// A plan for one call: who its targets are, and which of them may have the caller's credential.
import type { GatewayError } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { type BoundTarget, bindTarget, credentialMissing, type Selected } from './bind.ts';
import { NOTHING } from './inherited.ts';
import { type TargetPlan, type WholePlan, wholePlan } from './plan.ts';
import type { PlanDeps, StoredProvider } from './plan-deps.ts';
import { NO_TENANT, type PlannedCall } from './planned-call.ts';
import {
  conflict,
  modelOfSlug,
  namedByModel,
  ofStored,
  otherProvider,
  providerMissing,
  type Selection,
  select,
  unknownSlug,
} from './selection.ts';

/** A call's way. */
export interface Routing {
  readonly plan: WholePlan;
  /** The target ready to be called. @throws GatewayError of status 400 */
  bind(target: TargetPlan): BoundTarget | Promise<BoundTarget>;
}

/** The way of a call without a config. @throws GatewayError of status 400 */
export const direct = (
  call: PlannedCall,
  selected: Selected,
  deps: PlanDeps,
  names: readonly string[],
  model: string | undefined,
): Routing => {
  const plan = guarded(planFor(selected.entry), call, deps);
  call.record.provider = selected.entry.id;
  const target = plan.root as TargetPlan;
  const mine = { ...bindingOf(call, deps, names), stranger: false, only: true };
  const bound = bindTarget(target, selected, mine, model);
  return { plan, bind: () => bound };
};

/** With what is saved in the place of its names. @throws GatewayError config_invalid */
function guarded(plan: WholePlan, { principal }: PlannedCall, deps: PlanDeps): WholePlan {
  return deps.guarded === undefined ? plan : deps.guarded(plan, principal ?? NO_TENANT);
}

const plans = new WeakMap<ProviderEntry, WholePlan>();

/** The plan of a call without a config: one target, and all of it from the headers. */
function planFor(entry: ProviderEntry): WholePlan {
  let plan = plans.get(entry);
  if (plan === undefined) {
    const { credential, ...nothing } = NOTHING;
    plan = wholePlan(
      {
        kind: 'target',
        path: 'config',
        name: undefined,
        weight: 1,
        statuses: undefined,
        hedge: undefined,
        ...nothing,
        apiKey: credential?.value,
      },
      entry.id,
    );
    plans.set(entry, plan);
  }
  return plan;
}

function bindingOf(call: PlannedCall, { isOwnKey }: PlanDeps, names: readonly string[]) {
  return {
    headers: call.headers,
    presentedKey: call.presentedKey,
    isOwnKey,
    names,
    credential: call.providerCredential,
  };
}

/** The way of a call with a config. @throws GatewayError of status 400 */
export function withConfig(
  call: PlannedCall,
  given: Selection,
  read: WholePlan,
  deps: PlanDeps,
  names: readonly string[],
  model: string | undefined,
): Routing | Promise<Routing> {
  const plan = guarded(read, call, deps);
  checkHeaders(call.headers, given, plan);
  checkModel(plan, namedByModel(call, deps, model)?.slug);
  if (!plan.open) return routing(call, plan, undefined, deps, names, model);
  const passes = plan.targets.some((target) => target.passthrough);
  const selected = select(call, given, deps, model, passes);
  if (selected instanceof Promise)
    return selected.then((found) => routing(call, plan, found, deps, names, model));
  return routing(call, plan, selected, deps, names, model);
}

/** A header must not contradict the config: above all not decide where another target's credential is sent. */
function checkHeaders(headers: GatewayHeaders, { provider, customHost }: Selection, plan: WholePlan): void {
  const { targets, open } = plan;
  if (provider !== undefined && !open && targets.some((target) => target.provider?.id !== provider))
    throw conflict(headers, 'config', 'provider');
  if (
    customHost !== undefined &&
    targets.some((target) => target.provider ?? target.slug ?? target.customHost)
  )
    throw conflict(headers, 'config', 'custom-host');
}

/**
 * A model must not contradict the config: with the provider that it names not among the targets, another one would be asked
 * for a model of that name. Targets that set the model themselves ask for no other.
 */
function checkModel({ targets, open }: WholePlan, slug: string | undefined): void {
  if (slug === undefined || open || targets.some((target) => target.slug === slug)) return;
  if (targets.every(({ params }) => params?.overrides.model !== undefined)) return;
  throw otherProvider(slug, 'the config goes to others');
}

function routing(
  call: PlannedCall,
  plan: WholePlan,
  selected: Selected | undefined,
  deps: PlanDeps,
  names: readonly string[],
  model: string | undefined,
): Routing {
  const { targets, needy } = plan;
  const only = targets.length === 1;
  const [first] = targets;
  if (first !== undefined) call.record.provider = (first.provider ?? selected?.entry)?.id ?? '';
  // The caller's credential was meant for one provider.
  const takers =
    plan.open && selected && !selected.stored ? [...new Set([selected.entry.id, ...needy])] : needy;
  if (takers.length > 1 || (needy.length > 0 && !only && call.providerCredential === undefined))
    throw severalCredentials(plan, takers);
  const mine = bindingOf(call, deps, names);
  // Of a model that names one of several targets, all are asked for the same.
  const bare = namedByModel(call, deps, model)?.model;
  const stranger = (target: TargetPlan): boolean => !isMeant(target, plan, selected);
  return {
    plan,
    bind(target) {
      const { provider, slug } = target;
      if (slug !== undefined) {
        const stored = deps.resolveProvider(call.principal ?? NO_TENANT, slug);
        const bind = (found: StoredProvider | undefined): BoundTarget => {
          if (found === undefined) throw unknownSlug(call, deps, slug, `${target.path}.provider`);
          const own = ofStored(found, modelOfSlug(slug, model) ?? bare);
          return bindTarget(target, own, { ...mine, stranger: stranger(target), only }, model);
        };
        return stored instanceof Promise ? stored.then(bind) : bind(stored);
      }
      if (provider === undefined) {
        if (selected === undefined) throw providerMissing(call.headers);
        return bindTarget(target, selected, { ...mine, stranger: stranger(target), only: true }, model);
      }
      return bindTarget(target, undefined, { ...mine, stranger: stranger(target), only, bare }, model);
    },
  };
}

/** Whether the caller's credential is for a target. One that a cache brings along is none of the plan's. */
function isMeant(target: TargetPlan, { targets }: WholePlan, selected: Selected | undefined): boolean {
  const [first] = targets;
  const { provider, slug, apiKey, customHost } = target;
  const own = targets.includes(target);
  if (own && targets.length === 1) return true;
  if (slug !== undefined || apiKey !== undefined) return false;
  if (own) {
    // Hosts that a config names have their own credentials, unless it is one host for all.
    if (provider === undefined) return targets.every((one) => one.customHost === customHost) || !customHost;
    return customHost === undefined && !provider.keyless;
  }
  const only = targets.length === 1;
  const known = only ? first?.provider : selected?.entry;
  const hosted = selected?.customHost ?? (only ? first?.customHost : undefined);
  return customHost === undefined && (provider === undefined || (provider.id === known?.id && !hosted));
}

function severalCredentials({ targets }: WholePlan, takers: readonly string[]): GatewayError {
  const later = targets.find(
    ({ provider, apiKey, customHost, slug }) =>
      apiKey === undefined &&
      customHost === undefined &&
      slug === undefined &&
      provider !== undefined &&
      !provider.keyless &&
      (takers.length === 1 || provider.id !== takers[0]),
  );
  return credentialMissing(later ?? targets[0]!, later?.provider?.id ?? takers[0]!);
}
