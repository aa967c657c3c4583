// Carries out a plan for one call: fallback, load balance, conditions, hedges, retries, breakers. It knows no
// provider and no clock but its ports. Every run ends when its attempts do: nothing else is waited for but sleeps.
import type { AbortLike } from '../../lib/abort.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { holds } from '../plan/condition.ts';
import type { BalancePlan, ConditionalPlan, FallbackPlan, Plan, TargetPlan } from '../plan/plan.ts';
import { callTarget, isOfProvider, isOpen, type Reached, statusOf, unsatisfying } from './call-target.ts';
import { choose } from './choose.ts';
import { reasonOf } from './linked.ts';
import type { RoutePorts, Warmth } from './ports.ts';
import { race, type Start } from './race.ts';
import type { Step } from './trace.ts';

/** No new attempt begins later than this after the first one. */
const OVERALL_MS = 600_000;

/** One call's way through a plan. */
export class Route<Answer> {
  readonly #ports: RoutePorts<Answer>;
  readonly #deadline: number;
  /** The target tried last. */
  last: TargetPlan | undefined;
  /** Calls of it before the last one; -1 when there may be no more and it failed. */
  retries = 0;
  /** A target failed before the one that answered. */
  rescued = false;
  #moved = false;

  /** @param withinMs how long new attempts may begin; 10 minutes at the most */
  constructor(ports: RoutePorts<Answer>, withinMs: number = OVERALL_MS) {
    this.#ports = ports;
    this.#deadline = ports.now() + Math.min(withinMs, OVERALL_MS);
  }

  /** Resolves with the answer. @throws GatewayError of the target tried last */
  async run(plan: Plan, signal: AbortLike): Promise<Reached<Answer>> {
    const reached = await this.#node(plan, signal, false);
    this.last = reached.target;
    this.retries = reached.retries;
    this.rescued = this.#moved;
    return reached;
  }

  /** @param forced whether breakers are passed over: all of them were open */
  #node(plan: Plan, signal: AbortLike, forced: boolean): Promise<Reached<Answer>> {
    switch (plan.kind) {
      case 'fallback':
        return this.#fallback(plan, signal, forced);
      case 'balance':
        return this.#balance(plan, signal, forced);
      case 'conditional':
        return this.#conditional(plan, signal, forced);
      case 'target':
        return this.#repeated(plan, plan, signal, forced);
    }
  }

  /** A plan's chosen target, hedged by calling it again. */
  #repeated(node: Plan, target: Plan, signal: AbortLike, forced: boolean): Promise<Reached<Answer>> {
    const start: Start<Reached<Answer>> = (own) =>
      target === node ? this.#target(target as TargetPlan, own, forced) : this.#node(target, own, forced);
    if (node.hedge === undefined) return start(signal);
    let started = false;
    const next = (early: boolean): Start<Reached<Answer>> | undefined => {
      if (started && !early) return undefined;
      started = true;
      return start;
    };
    return this.#race(node, next, () => false, signal);
  }

  #race(
    node: Plan,
    next: (early: boolean) => Start<Reached<Answer>> | undefined,
    moveOn: (error: unknown) => boolean,
    signal: AbortLike,
  ): Promise<Reached<Answer>> {
    const { trace, sleep, discard, idempotent } = this.#ports;
    // A second call of what lasts would make it twice.
    const hedge = idempotent ? node.hedge! : { ...node.hedge!, max: 0 };
    return race(
      hedge,
      {
        next,
        moveOn,
        discard: ({ answer }) => discard(answer),
        sleep,
        onHedge: () => trace?.({ step: 'hedge', path: node.path, after_ms: hedge.afterMs }),
      },
      signal,
    );
  }

  async #fallback(plan: FallbackPlan, signal: AbortLike, forced: boolean): Promise<Reached<Answer>> {
    let at = 0;
    /** The last failure of a target that was really called. */
    let failure: unknown;
    const childOf = new WeakMap<object, Plan>();
    const start = (index: number): Start<Reached<Answer>> => {
      const child = plan.targets[index]!;
      return async (own) => {
        try {
          const reached = await this.#node(child, own, forced);
          const last = index === plan.targets.length - 1 || this.#late();
          const status = this.#ports.statusOf(reached.answer);
          if (status === 200 || last || !statusesOf(plan, child)?.has(status)) return reached;
          this.#ports.discard(reached.answer);
          throw unsatisfying(status);
        } catch (error) {
          childOf.set(error as object, child);
          if (!isOpen(error)) failure = error;
          throw error;
        }
      };
    };
    const next = (): Start<Reached<Answer>> | undefined =>
      at < plan.targets.length ? start(at++) : undefined;
    const moveOn = (error: unknown): boolean => {
      const child = childOf.get(error as object) ?? plan.targets[0]!;
      if (this.#late() || !movesOn(plan, child, error)) return false;
      this.#ports.trace?.({ step: 'move_on', path: child.path, status: statusOf(error) });
      this.#moved = true;
      return true;
    };
    try {
      if (plan.hedge !== undefined) return await this.#race(plan, next, moveOn, signal);
      for (;;) {
        try {
          return await next()!(signal);
        } catch (error) {
          if (signal.aborted) throw reasonOf(signal);
          if (at === plan.targets.length || !moveOn(error)) throw error;
        }
      }
    } catch (error) {
      if (!isOpen(error) || signal.aborted) throw error;
      if (failure !== undefined) throw failure;
      // All of them left alone: better one that is called all the same than none.
      if (forced) throw error;
      return this.#node(plan.targets[0]!, signal, true);
    }
  }

  async #balance(plan: BalancePlan, signal: AbortLike, forced: boolean): Promise<Reached<Answer>> {
    const { trace, sticky } = this.#ports;
    const left = new Set(plan.targets.keys());
    let bound: number | undefined;
    if (plan.sticky !== undefined) bound = await sticky.claim(plan, choose(plan, [...left], this.#ports));
    let warmth: Warmth | undefined;
    if (plan.affinity !== undefined) {
      warmth = await sticky.warm(plan, choose(plan, [...left], this.#ports));
      bound = warmth.index;
      trace?.(affinityStep(plan, warmth));
    }
    const pick = (): number => {
      const index = bound !== undefined && left.has(bound) ? bound : choose(plan, [...left], this.#ports);
      trace?.({
        step: 'choice',
        path: plan.path,
        algorithm: index === bound ? boundBy(warmth) : plan.algorithm,
        target: plan.targets[index]!.path,
      });
      return index;
    };
    const next = (): Start<Reached<Answer>> => {
      // A hedge takes another target where there is one.
      const index = left.size === 0 ? choose(plan, [...plan.targets.keys()], this.#ports) : pick();
      left.delete(index);
      return async (own) => {
        const reached = await this.#watched(plan.targets[index]!, own, forced);
        warmth?.answered(index);
        return reached;
      };
    };
    const failed = { open: 0 };
    const again = (error: unknown): boolean => {
      if (isOpen(error)) failed.open++;
      else if (warmth === undefined || warmth.key === 'none' || !isDown(error)) return false;
      else if (left.size > 0) trace?.({ step: 'move_on', path: plan.path, status: statusOf(error) });
      return left.size > 0 && !this.#late();
    };
    try {
      if (plan.hedge !== undefined) return await this.#race(plan, () => next(), again, signal);
      for (;;) {
        try {
          return await next()(signal);
        } catch (error) {
          if (signal.aborted) throw reasonOf(signal);
          if (!again(error)) throw error;
        }
      }
    } catch (error) {
      if (forced || !isOpen(error) || failed.open < plan.targets.length) throw error;
      const index = bound ?? choose(plan, [...plan.targets.keys()], this.#ports);
      return this.#watched(plan.targets[index]!, signal, true);
    }
  }

  /** A balanced target, its load noted. */
  async #watched(plan: Plan, signal: AbortLike, forced: boolean): Promise<Reached<Answer>> {
    const { loads, now } = this.#ports;
    const began = now();
    loads.begin(plan);
    try {
      const reached = await this.#node(plan, signal, forced);
      loads.end(plan, now() - began, false, now());
      return reached;
    } catch (error) {
      if (signal.aborted || !isOfProvider(error)) loads.drop(plan);
      else loads.end(plan, now() - began, statusOf(error) >= 429, now());
      throw error;
    }
  }

  async #conditional(plan: ConditionalPlan, signal: AbortLike, forced: boolean): Promise<Reached<Answer>> {
    const { trace, conditions } = this.#ports;
    let index = plan.otherwise;
    let found = false;
    for (const { condition, query, target } of plan.rules) {
      found = await holds(condition, conditions);
      if (signal.aborted) throw reasonOf(signal);
      trace?.({ step: 'condition', path: plan.path, query, held: found, target: plan.targets[target]!.path });
      if (!found) continue;
      index = target;
      break;
    }
    if (index === undefined) throw noneHolds(plan);
    const target = plan.targets[index]!;
    if (!found) trace?.({ step: 'default', path: plan.path, target: target.path });
    return this.#repeated(plan, target, signal, forced);
  }

  /** One target with its cache and its retries. */
  async #target(plan: TargetPlan, signal: AbortLike, forced: boolean): Promise<Reached<Answer>> {
    const { cached } = this.#ports;
    if (plan.cache === undefined || cached === undefined) return this.#uncached(plan, signal, forced);
    let reached: Reached<Answer> | undefined;
    const answer = await cached(plan, signal, async () => {
      reached = await this.#uncached(plan, signal, forced);
      return reached.answer;
    });
    return reached === undefined ? { answer, target: plan, retries: 0 } : { ...reached, answer };
  }

  #uncached(plan: TargetPlan, signal: AbortLike, forced: boolean): Promise<Reached<Answer>> {
    return callTarget(plan, this.#ports, this.#deadline, signal, forced, (retries) => {
      this.last = plan;
      this.retries = retries;
    });
  }

  #late(): boolean {
    return this.#ports.now() >= this.#deadline;
  }
}

function statusesOf(plan: FallbackPlan, child: Plan): ReadonlySet<number> | undefined {
  return plan.onStatuses ?? child.statuses;
}

/** Whether a fallback goes on after a failure. What is no answer of a provider's always does. */
function movesOn(plan: FallbackPlan, child: Plan, error: unknown): boolean {
  if (isOpen(error)) return true;
  if (error instanceof GatewayError && error.reason === 'operation_unsupported') return true;
  return statusesOf(plan, child)?.has(statusOf(error)) ?? true;
}

/** Whether another target may do better with a conversation: its warm one is busy, broken or gone. */
function isDown(error: unknown): boolean {
  if (!isOfProvider(error)) return false;
  const status = statusOf(error);
  return status === 408 || status === 429 || status >= 500;
}

function boundBy(warmth: Warmth | undefined): string {
  return warmth === undefined ? 'sticky' : 'affinity';
}

function affinityStep(plan: BalancePlan, { key, index, warm, ttlMs, tokens, minTokens }: Warmth): Step {
  return {
    step: 'affinity',
    path: plan.path,
    key,
    warm: warm && index !== undefined ? plan.targets[index]!.path : null,
    ttl: ttlMs / 1000,
    tokens,
    min_tokens: minTokens,
  };
}

function noneHolds({ path }: ConditionalPlan): GatewayError {
  const param =
    path === 'config' ? 'strategy.conditions' : `${path.slice('config.'.length)}.strategy.conditions`;
  return fail('config_invalid', `${param}: no condition holds for this call and there is no default`, {
    param,
  });
}
