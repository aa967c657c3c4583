// Headers -> the call's way: exactly one manner of selecting the provider (specification, "Provider
// authentication"), or a config's plan with the call's own settings around it.
import { fail } from '../../lib/errors.ts';
import type { Configs } from './configs.ts';
import type { WholePlan } from './plan.ts';
import type { PlanDeps, Preset, SavedConfig } from './plan-deps.ts';
import { NO_TENANT, type PlannedCall } from './planned-call.ts';
import { canonical, readForwardNames, readMetadata } from './request-settings.ts';
import { direct, type Routing, withConfig } from './routing.ts';
import { readSelection, type Selection, select, selectsNothing } from './selection.ts';

export type { Routing } from './routing.ts';

/** What planning is built of. */
export interface Planner {
  readonly deps: PlanDeps;
  readonly configs: Configs;
}

/**
 * Plans a call. At once, unless a slug must be looked up.
 * @param model the model that the request asks for: "@slug/model" names a stored provider
 * @throws GatewayError of status 400 naming the header or the config's member at fault
 */
export function planOf(
  call: PlannedCall,
  { deps, configs }: Planner,
  model: string | undefined,
): Routing | Promise<Routing> {
  const { headers } = call;
  const said = readMetadata(headers);
  const own = call.clientMetadata === undefined ? said : { ...call.clientMetadata, ...said };
  call.record.metadata = call.defaultMetadata === undefined ? own : { ...own, ...call.defaultMetadata };
  const names = readForwardNames(headers);
  const given = readSelection(headers);
  const preset = call.principal && deps.presetOf?.(call.principal);
  if (given.config !== undefined && preset?.mayOverride === false)
    throw fail('config_invalid', `${preset.owner} has its config and allows no other`, {
      param: canonical(headers, 'config'),
    });
  const alias = preset?.mayOverride === false ? undefined : aliasOf(call, given, deps, model);
  if (alias !== undefined) {
    const plan = configs.saved(alias, call.principal ?? NO_TENANT);
    call.record.config = alias.slug ?? alias.id;
    if (plan instanceof Promise)
      return plan.then((read) => withConfig(call, given, read, deps, names, model));
    return withConfig(call, given, plan, deps, names, model);
  }
  if (given.config === undefined && preset?.config !== undefined)
    return byPreset(call, given, { deps, configs }, preset, preset.config, names, model);
  return bySelection(call, given, { deps, configs }, names, model);
}

/** The saved config of the alias that a call gives as its model, when the call selects nothing else. */
function aliasOf(
  { principal }: PlannedCall,
  given: Selection,
  { resolveAlias }: PlanDeps,
  model: string | undefined,
): SavedConfig | undefined {
  if (resolveAlias === undefined || model === undefined || given.config !== undefined) return undefined;
  return selectsNothing(given, model) ? resolveAlias(principal ?? NO_TENANT, model) : undefined;
}

/** As the request itself says. */
function bySelection(
  call: PlannedCall,
  given: Selection,
  { deps, configs }: Planner,
  names: readonly string[],
  model: string | undefined,
): Routing | Promise<Routing> {
  const { headers } = call;
  if (given.config === undefined) {
    const fallback = selectsNothing(given, model)
      ? deps.defaultConfig(call.principal ?? NO_TENANT)
      : undefined;
    if (fallback !== undefined) return byDefault(call, given, fallback, { deps, configs }, names, model);
    const selected = select(call, given, deps, model, false);
    if (selected instanceof Promise)
      return selected.then((found) => direct(call, found!, deps, names, model));
    return direct(call, selected!, deps, names, model);
  }
  const plan = configs.read(
    given.config,
    canonical(headers, 'config'),
    call.principal ?? NO_TENANT,
    noteConfig(call),
  );
  if (plan instanceof Promise) return plan.then((read) => withConfig(call, given, read, deps, names, model));
  return withConfig(call, given, plan, deps, names, model);
}

/** With the config that the caller's calls start with. A request's own provider goes before it, where it may. */
function byPreset(
  call: PlannedCall,
  given: Selection,
  planner: Planner,
  { owner, mayOverride }: Preset,
  config: string,
  names: readonly string[],
  model: string | undefined,
): Routing | Promise<Routing> {
  const go = (plan: WholePlan): Routing | Promise<Routing> => {
    if (!plan.open && !selectsNothing(given, model)) {
      if (mayOverride) return bySelection(call, given, planner, names, model);
      if (given.virtualKey !== undefined)
        throw fail('selection_conflict', `${owner} has its config, which selects the provider`, {
          param: canonical(call.headers, 'virtual-key'),
        });
    }
    return withConfig(call, given, plan, planner.deps, names, model);
  };
  const plan = planner.configs.read(
    config,
    `the config of ${owner}`,
    call.principal ?? NO_TENANT,
    noteConfig(call),
  );
  return plan instanceof Promise ? plan.then(go) : go(plan);
}

function byDefault(
  call: PlannedCall,
  given: Selection,
  config: SavedConfig,
  { deps, configs }: Planner,
  names: readonly string[],
  model: string | undefined,
): Routing | Promise<Routing> {
  const plan = configs.saved(config, call.principal ?? NO_TENANT);
  call.record.config = config.slug ?? config.id;
  if (plan instanceof Promise) return plan.then((read) => withConfig(call, given, read, deps, names, model));
  return withConfig(call, given, plan, deps, names, model);
}

/** An inline config has no name. */
function noteConfig({ record }: PlannedCall): (slug: string) => void {
  return (slug) => {
    record.config = slug;
  };
}

/** A config's plan with the call's own settings around it. @throws GatewayError of status 400 */
export function routingOf(call: PlannedCall, plan: WholePlan, { deps }: Planner): Routing | Promise<Routing> {
  return withConfig(call, readSelection(call.headers), plan, deps, [], undefined);
}
