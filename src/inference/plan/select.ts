// Headers -> the call's way: exactly one manner of selecting the provider (specification, "Provider
// authentication"), or a config's plan with the call's own settings around it.
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { type BoundTarget, bindTarget, credentialMissing, type Selected } from './bind.ts';
import type { Configs } from './configs.ts';
import { clip } from './faults.ts';
import { NOTHING } from './inherited.ts';
import { type TargetPlan, type WholePlan, wholePlan } from './plan.ts';
import type { Caller, PlanFacts, Preset, SavedConfig, StoredProvider, Tenant } from './plan-facts.ts';
import { canonical, readForwardNames, readMetadata } from './request-settings.ts';

/** What planning reads of a call, and what it notes on it. */
export interface PlannedCall {
  readonly headers: GatewayHeaders;
  readonly presentedKey: string | undefined;
  readonly providerCredential: string | undefined;
  readonly principal: Caller | undefined;
  readonly trail: { provider: string; metadata: Readonly<Record<string, string>> };
  /** Wins over the request's own. */
  readonly defaultMetadata?: Readonly<Record<string, string>> | undefined;
}

/** A call's way. */
export interface Routing {
  readonly plan: WholePlan;
  /** The target ready to be called. @throws GatewayError of status 400 */
  bind(target: TargetPlan): BoundTarget | Promise<BoundTarget>;
}

/** What planning is built of. */
export interface Planner {
  readonly facts: PlanFacts;
  readonly configs: Configs;
}

/**
 * Plans a call. At once, unless a slug must be looked up.
 * @param model the model that the request asks for: "@slug/model" names a stored provider
 * @throws GatewayError of status 400 naming the header or the config's member at fault
 */
export function planOf(
  call: PlannedCall,
  { facts, configs }: Planner,
  model: string | undefined,
): Routing | Promise<Routing> {
  const { headers } = call;
  const own = readMetadata(headers);
  call.trail.metadata = call.defaultMetadata === undefined ? own : { ...own, ...call.defaultMetadata };
  const names = readForwardNames(headers);
  const given = readSelection(headers);
  const preset = call.principal && facts.presetOf?.(call.principal);
  if (given.config !== undefined && preset?.mayOverride === false)
    throw fail('config_invalid', `${preset.owner} has its config and allows no other`, {
      param: canonical(headers, 'config'),
    });
  if (given.config === undefined && preset?.config !== undefined)
    return byPreset(call, given, { facts, configs }, preset, preset.config, names, model);
  return bySelection(call, given, { facts, configs }, names, model);
}

/** As the request itself says. */
function bySelection(
  call: PlannedCall,
  given: Selection,
  { facts, configs }: Planner,
  names: readonly string[],
  model: string | undefined,
): Routing | Promise<Routing> {
  const { headers } = call;
  if (given.config === undefined) {
    const fallback = selectsNothing(given, model) ? facts.defaultConfig(call.principal ?? NOBODY) : undefined;
    if (fallback !== undefined) return byDefault(call, given, fallback, { facts, configs }, names, model);
    const selected = select(call, given, facts, model, false);
    if (selected instanceof Promise)
      return selected.then((found) => direct(call, found!, facts, names, model));
    return direct(call, selected!, facts, names, model);
  }
  const plan = configs.read(given.config, canonical(headers, 'config'), call.principal ?? NOBODY);
  if (plan instanceof Promise) return plan.then((read) => withConfig(call, given, read, facts, names, model));
  return withConfig(call, given, plan, facts, names, model);
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
    return withConfig(call, given, plan, planner.facts, names, model);
  };
  const plan = planner.configs.read(config, `the config of ${owner}`, call.principal ?? NOBODY);
  return plan instanceof Promise ? plan.then(go) : go(plan);
}

function selectsNothing({ provider, virtualKey, customHost }: Selection, model: string | undefined): boolean {
  return (provider ?? virtualKey ?? customHost) === undefined && !model?.startsWith('@');
}

function byDefault(
  call: PlannedCall,
  given: Selection,
  config: SavedConfig,
  { facts, configs }: Planner,
  names: readonly string[],
  model: string | undefined,
): Routing | Promise<Routing> {
  const plan = configs.saved(config, call.principal ?? NOBODY);
  if (plan instanceof Promise) return plan.then((read) => withConfig(call, given, read, facts, names, model));
  return withConfig(call, given, plan, facts, names, model);
}

const NOBODY: Tenant = Object.freeze({ organisationId: '', workspaceId: undefined });

/** A config's plan with the call's own settings around it. @throws GatewayError of status 400 */
export function routingOf(
  call: PlannedCall,
  plan: WholePlan,
  { facts }: Planner,
): Routing | Promise<Routing> {
  return withConfig(call, readSelection(call.headers), plan, facts, [], undefined);
}

/** The headers that select. */
interface Selection {
  readonly provider: string | undefined;
  readonly virtualKey: string | undefined;
  readonly config: string | undefined;
  readonly customHost: string | undefined;
}

function readSelection(headers: GatewayHeaders): Selection {
  const given = {
    provider: headers.get('provider'),
    virtualKey: headers.get('virtual-key'),
    config: headers.get('config'),
    customHost: headers.get('custom-host'),
  };
  const { provider, virtualKey, config, customHost } = given;
  if (virtualKey !== undefined) {
    if (config !== undefined) throw conflict(headers, 'virtual-key', 'config');
    if (customHost !== undefined) throw conflict(headers, 'virtual-key', 'custom-host');
    if (provider !== undefined && provider !== `@${virtualKey}` && provider !== virtualKey)
      throw conflict(headers, 'virtual-key', 'provider');
  }
  return given;
}

function conflict(headers: GatewayHeaders, a: string, b: string): GatewayError {
  const name = canonical(headers, a);
  return fail(
    'selection_conflict',
    `${name} and ${canonical(headers, b)} select different providers; send one of them`,
    { param: name },
  );
}

const direct = (
  call: PlannedCall,
  selected: Selected,
  facts: PlanFacts,
  names: readonly string[],
  model: string | undefined,
): Routing => {
  const plan = planFor(selected.entry);
  call.trail.provider = selected.entry.id;
  const target = plan.root as TargetPlan;
  const bound = bindTarget(target, selected, { ...bindingOf(call, facts, names), only: true }, model);
  return { plan, bind: () => bound };
};

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

function bindingOf(call: PlannedCall, { isOwnKey }: PlanFacts, names: readonly string[]) {
  return {
    headers: call.headers,
    presentedKey: call.presentedKey,
    isOwnKey,
    names,
    credential: call.providerCredential,
  };
}

function withConfig(
  call: PlannedCall,
  given: Selection,
  plan: WholePlan,
  facts: PlanFacts,
  names: readonly string[],
  model: string | undefined,
): Routing | Promise<Routing> {
  checkHeaders(call.headers, given, plan);
  if (!plan.open) return routing(call, plan, undefined, facts, names, model);
  const passes = plan.targets.some((target) => target.passthrough);
  const selected = select(call, given, facts, model, passes);
  if (selected instanceof Promise)
    return selected.then((found) => routing(call, plan, found, facts, names, model));
  return routing(call, plan, selected, facts, names, model);
}

/** A header beside a config must not say something else: least of all where another target's credential goes. */
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

function routing(
  call: PlannedCall,
  plan: WholePlan,
  selected: Selected | undefined,
  facts: PlanFacts,
  names: readonly string[],
  model: string | undefined,
): Routing {
  const { targets, needy } = plan;
  const only = targets.length === 1;
  const [first] = targets;
  if (first !== undefined) call.trail.provider = (first.provider ?? selected?.entry)?.id ?? '';
  // The caller's credential was meant for one provider.
  const takers =
    plan.open && selected && !selected.stored ? [...new Set([selected.entry.id, ...needy])] : needy;
  if (takers.length > 1 || (needy.length > 0 && !only && call.providerCredential === undefined))
    throw severalCredentials(plan, takers);
  const mine = bindingOf(call, facts, names);
  return {
    plan,
    bind(target) {
      const { provider, slug } = target;
      if (slug !== undefined) {
        const stored = facts.resolveProvider(call.principal ?? NOBODY, slug);
        const bind = (found: StoredProvider | undefined): BoundTarget => {
          if (found === undefined) throw unknownSlug(slug, `${target.path}.provider`);
          return bindTarget(target, ofStored(found), { ...mine, only }, model);
        };
        return stored instanceof Promise ? stored.then(bind) : bind(stored);
      }
      if (provider === undefined) {
        if (selected === undefined) throw providerMissing(call.headers);
        return bindTarget(target, selected, { ...mine, only: true }, model);
      }
      const taker = targets.includes(target)
        ? only || (target.customHost === undefined && !provider.keyless)
        : target.customHost === undefined && provider.id === (only ? first?.provider : selected?.entry)?.id;
      const credential = taker ? mine.credential : undefined;
      return bindTarget(target, undefined, { ...mine, credential, only }, model);
    },
  };
}

/** The provider by header, virtual key or model. @throws GatewayError provider_missing, provider_unknown, selection_conflict */
function select(
  call: PlannedCall,
  { provider, virtualKey, customHost }: Selection,
  facts: PlanFacts,
  model: string | undefined,
  mayBeMissing: boolean,
): Selected | undefined | Promise<Selected | undefined> {
  const { headers } = call;
  const name = (bare: string): string => canonical(headers, bare);
  if (virtualKey !== undefined) return stored(call, virtualKey, name('virtual-key'), facts, undefined);
  if (provider === undefined || provider === '') {
    const [, slug, rest] = /^@([^/]{1,128})\/(.+)$/s.exec(model ?? '') ?? [];
    const missing = (): Selected | undefined => {
      if (mayBeMissing) return undefined;
      throw providerMissing(headers);
    };
    // Names of models may begin so: Cloudflare's and Hugging Face's do.
    if (slug === undefined || slug === 'cf' || slug === 'hf') return missing();
    return stored(call, slug, 'model', facts, rest);
  }
  if (provider.startsWith('@')) {
    if (customHost !== undefined) throw conflict(headers, 'provider', 'custom-host');
    return stored(call, provider.slice(1), name('provider'), facts, undefined);
  }
  const entry = facts.providerById(provider);
  if (entry === undefined)
    throw fail('provider_unknown', `the provider is not known: ${clip(provider)}`, {
      param: name('provider'),
    });
  if (customHost !== undefined) facts.checkHost(customHost, name('custom-host'));
  return { entry, stored: undefined, customHost, model: undefined };
}

function stored(
  call: PlannedCall,
  slug: string,
  param: string,
  facts: PlanFacts,
  model: string | undefined,
): Selected | Promise<Selected> {
  const made = (found: StoredProvider | undefined): Selected => {
    if (found === undefined) throw unknownSlug(slug, param);
    return ofStored(found, model);
  };
  const found = facts.resolveProvider(call.principal ?? NOBODY, slug);
  return found instanceof Promise ? found.then(made) : made(found);
}

function ofStored({ entry, ...settings }: StoredProvider, model?: string): Selected {
  return { entry, stored: settings, customHost: undefined, model };
}

function unknownSlug(slug: string, param: string): GatewayError {
  return fail('provider_unknown', `there is no stored provider ${clip(slug)}`, { param });
}

function providerMissing(headers: GatewayHeaders): GatewayError {
  const name = (bare: string): string => canonical(headers, bare);
  return fail(
    'provider_missing',
    `no provider is selected: send ${name('provider')} with a credential, ${name('config')}, or ${name('custom-host')} with ${name('provider')}`,
    { param: name('provider') },
  );
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
