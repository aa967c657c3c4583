// From a config's levels to a plan: settings folded in, targets turned into the strategy's variant.
import {
  RoutingAlgorithm,
  RoutingMode,
  type RoutingStrategy,
} from '../../../gen/gateway/inference/v2/config_pb.ts';
import { conditionLimits, parseCondition } from './condition.ts';
import { clip, type Fault, step } from './faults.ts';
import { type Inherited, NOTHING } from './inherited.ts';
import type { ParseDeps } from './parse-deps.ts';
import type { BalancePlan, ConditionalRule, Plan, TargetPlan } from './plan.ts';
import { type ConfigLevel, readConfig } from './read-config.ts';
import { hedgeOf, readSettings } from './read-settings.ts';
import { readAffinity, readSticky } from './read-sticky.ts';

/** Targets of a whole config at the most, saved ones that it refers to included. */
const MOST_TARGETS = 500;

const ALGORITHMS: ReadonlyMap<RoutingAlgorithm | undefined, BalancePlan['algorithm']> = new Map([
  [RoutingAlgorithm.LEAST_LATENCY, 'least_latency'],
  [RoutingAlgorithm.LEAST_BUSY, 'least_busy'],
]);

/** Builds plans; notes what is wrong on the way. */
export class PlanBuilder {
  readonly #deps: ParseDeps;
  readonly #faults: Fault[];
  /** By path of the credential: the first provider that it goes to. */
  readonly #credentials = new Map<string, string>();
  #targets = 0;
  readonly #limits = conditionLimits();

  constructor(deps: ParseDeps, faults: Fault[]) {
    const limits = deps.guardrailLimits?.();
    this.#deps =
      limits === undefined
        ? deps
        : {
            ...deps,
            readGuardrails: (level, path, wrong) => deps.readGuardrails(level, path, wrong, limits),
          };
    this.#faults = faults;
  }

  /** The plan of a level; undefined when it is too broken to be one. */
  build(level: ConfigLevel, above: Inherited, within: readonly string[]): Plan | undefined {
    const { config, targets, path } = level;
    if (config.config !== undefined) return this.#saved(level, config.config, above, within);
    const settings = readSettings(level, above, this.#deps, this.#faults, (json, at) =>
      this.#embeddings(json, at, within),
    );
    if (targets === undefined) {
      if (config.strategy !== undefined) this.#fault(step(path, 'targets'), 'is required with a strategy');
      return this.#target(level, settings);
    }
    if (config.passthrough)
      this.#fault(step(path, 'passthrough'), 'must not stand beside `targets`: it is a target’s');
    const children = targets.map((target) => this.build(target, settings, within));
    this.#checkNames(level, targets);
    const plans = children.filter((plan) => plan !== undefined);
    return plans.length === children.length && plans.length > 0 ? this.#strategy(level, plans) : undefined;
  }

  /** A saved config in the place of a target. */
  #saved(level: ConfigLevel, slug: string, above: Inherited, within: readonly string[]): Plan | undefined {
    const at = step(level.path, 'config');
    for (const name of Object.keys(level.json)) {
      if (!/^(config|name|weight|on_?status_?codes)$/i.test(name))
        this.#fault(step(level.path, name), 'must not stand beside `config`');
    }
    if (within.includes(slug)) {
      this.#fault(at, `leads back to itself: ${[...within, slug].map(clip).join(' -> ')}`);
      return undefined;
    }
    const json = this.#deps.savedConfig(slug);
    if (json === undefined) {
      this.#fault(at, `there is no saved config ${clip(slug)}`);
      return undefined;
    }
    const inner = readConfig(json, level.path, this.#faults, within.length);
    const plan = this.build(inner, above, [...within, slug]);
    return plan && { ...plan, ...this.#node(level), hedge: plan.hedge };
  }

  #target(level: ConfigLevel, settings: Inherited): TargetPlan | undefined {
    if (++this.#targets > MOST_TARGETS) {
      if (this.#targets === MOST_TARGETS + 1)
        this.#fault(level.path || 'config', `has more than ${MOST_TARGETS} targets`);
      return undefined;
    }
    const { credential, ...rest } = settings;
    return { kind: 'target', ...this.#node(level), ...rest, apiKey: this.#apiKey(level, settings) };
  }

  /** The target's own credential, or one from above that was written for its provider. */
  #apiKey({ path }: ConfigLevel, { credential, provider, slug }: Inherited): string | undefined {
    if (credential === undefined || slug !== undefined) return undefined;
    if (provider === undefined) {
      // Else the caller would decide where a saved config's credential is sent.
      this.#fault(step(path, 'provider'), 'is required with a credential: whose it is');
      return undefined;
    }
    const { id } = provider;
    if (credential.provider !== undefined) return credential.provider === id ? credential.value : undefined;
    const first = this.#credentials.get(credential.path) ?? id;
    this.#credentials.set(credential.path, first);
    if (first === id) return credential.value;
    this.#fault(
      step(path, 'api_key'),
      `is required: ${credential.path} would go to two providers, ${first} and ${id}`,
    );
    return undefined;
  }

  #strategy(level: ConfigLevel, targets: readonly Plan[]): Plan | undefined {
    const { strategy } = level.config;
    const node = { ...this.#node(level), hedge: hedgeOf(strategy?.hedge) };
    const mode = strategy?.mode ?? RoutingMode.UNSPECIFIED;
    this.#checkMembers(level, strategy, mode);
    switch (mode) {
      case RoutingMode.FALLBACK:
        return { kind: 'fallback', ...node, targets, onStatuses: setOf(strategy!.onStatusCodes) };
      case RoutingMode.LOADBALANCE: {
        const chosen = targets.filter(({ weight }) => weight > 0);
        if (chosen.length === 0)
          this.#fault(step(level.path, 'targets'), 'at least one must have a weight above 0');
        const sticky = readSticky(strategy!.sticky, step(level.path, 'strategy.sticky'), this.#faults);
        const algorithm = ALGORITHMS.get(strategy!.algorithm) ?? 'weighted';
        const at = step(level.path, 'strategy.affinity');
        const affinity = readAffinity(strategy!.affinity, at, this.#faults);
        if (sticky !== undefined && affinity !== undefined)
          this.#fault(at, 'must not stand beside `sticky`: use one of them');
        return { kind: 'balance', ...node, targets: chosen, algorithm, sticky, affinity };
      }
      case RoutingMode.CONDITIONAL:
        return this.#conditional(level, strategy!, targets);
      default: {
        if (targets.length > 1 && mode !== RoutingMode.SINGLE)
          this.#fault(step(level.path, 'strategy'), 'is required with more than one target');
        const [only, ...others] = targets;
        const passedOver = [...(only?.passedOver ?? []), ...others.map(({ path }) => path)];
        return (
          only && {
            ...only,
            name: node.name ?? only.name,
            weight: node.weight,
            statuses: node.statuses ?? only.statuses,
            hedge: node.hedge ?? only.hedge,
            ...(passedOver.length === 0 ? {} : { passedOver }),
          }
        );
      }
    }
  }

  #conditional(level: ConfigLevel, strategy: RoutingStrategy, targets: readonly Plan[]): Plan {
    const at = step(level.path, 'strategy');
    const indexOf = (name: string, path: string): number => {
      const index = targets.findIndex((target) => target.name === name);
      if (index === -1) this.#fault(path, `names no target: ${clip(name)}`);
      return index;
    };
    if (strategy.conditions.length === 0)
      this.#fault(step(at, 'conditions'), 'is required with this strategy');
    const rules: ConditionalRule[] = [];
    for (const [i, { query, then }] of strategy.conditions.entries()) {
      const path = step(step(at, 'conditions'), i);
      const condition = query && parseCondition(query, step(path, 'query'), this.#faults, this.#limits);
      const index = then === '' ? -1 : indexOf(then, step(path, 'then'));
      if (condition !== undefined && query && index !== -1) rules.push({ condition, query, target: index });
    }
    return {
      kind: 'conditional',
      ...this.#node(level),
      hedge: hedgeOf(strategy.hedge),
      targets,
      rules,
      otherwise: strategy.default === undefined ? undefined : indexOf(strategy.default, step(at, 'default')),
    };
  }

  #embeddings(json: object, path: string, within: readonly string[]): TargetPlan | undefined {
    const plan = this.build(readConfig(json, path, this.#faults), NOTHING, within);
    if (plan === undefined || plan.kind === 'target') return plan;
    this.#fault(step(path, 'targets'), 'must be one target');
    return undefined;
  }

  #checkNames({ config }: ConfigLevel, targets: readonly ConfigLevel[]): void {
    const byName = config.strategy?.mode === RoutingMode.CONDITIONAL;
    const seen = new Set<string>();
    for (const { config: target, path } of targets) {
      const { name } = target;
      if (name === undefined) {
        if (byName) this.#fault(step(path, 'name'), 'is required where conditions choose');
      } else if (seen.has(name))
        this.#fault(step(path, 'name'), `is the name of another target: ${clip(name)}`);
      else seen.add(name);
    }
  }

  /** Members of a strategy that its mode does not look at. */
  #checkMembers({ path }: ConfigLevel, strategy: RoutingStrategy | undefined, mode: RoutingMode): void {
    if (strategy === undefined || mode === RoutingMode.UNSPECIFIED) return;
    const only = (name: string, given: boolean, of: RoutingMode, word: string): void => {
      if (given && mode !== of)
        this.#fault(step(step(path, 'strategy'), name), `is for the strategy "${word}" only`);
    };
    only('on_status_codes', strategy.onStatusCodes.length > 0, RoutingMode.FALLBACK, 'fallback');
    only('conditions', strategy.conditions.length > 0, RoutingMode.CONDITIONAL, 'conditional');
    only('default', strategy.default !== undefined, RoutingMode.CONDITIONAL, 'conditional');
    only('sticky', strategy.sticky !== undefined, RoutingMode.LOADBALANCE, 'loadbalance');
    only('affinity', strategy.affinity !== undefined, RoutingMode.LOADBALANCE, 'loadbalance');
    only('algorithm', strategy.algorithm !== undefined, RoutingMode.LOADBALANCE, 'loadbalance');
  }

  #node({ config, path }: ConfigLevel) {
    return {
      path: path === '' ? 'config' : `config.${path}`,
      name: config.name,
      weight: config.weight ?? 1,
      statuses: setOf(config.onStatusCodes),
      hedge: undefined,
    };
  }

  #fault(path: string, message: string): void {
    this.#faults.push({ path, message });
  }
}

function setOf(statuses: readonly number[]): ReadonlySet<number> | undefined {
  return statuses.length === 0 ? undefined : new Set(statuses);
}
