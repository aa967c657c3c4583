// What carrying out a plan needs of the world: everything that has an effect, a clock or chance in it.
import type { AbortLike } from '../../lib/abort.ts';
import type { ConditionContext } from '../plan/condition.ts';
import type { BalancePlan, TargetPlan } from '../plan/plan.ts';
import type { Loads } from './loads.ts';
import type { Trace } from './trace.ts';

/** One call's ports. `Answer` is whatever an attempt brings. */
export interface RoutePorts<Answer> {
  /**
   * Calls a target once. Settles soon after the signal is aborted, whatever the provider does; a stream's answer
   * is its beginning, and the signal ends what follows too. `answered` says that the provider has done its part: what
   * takes time from there on is not its. @throws GatewayError
   */
  attempt(target: TargetPlan, signal: AbortLike, answered: () => void): Promise<Answer>;
  /**
   * What must be done before a target is called; it takes none of the attempt's time. Absent, or undefined: nothing.
   * @throws GatewayError in the place of the attempt's
   */
  prepare?(target: TargetPlan, signal: AbortLike): Promise<void> | undefined;
  /** Stands before a target with a cache: gives what is kept, or runs it. Absent: nothing is kept. */
  cached?(target: TargetPlan, signal: AbortLike, run: () => Promise<Answer>): Promise<Answer>;
  /** Whether the request may be sent twice at once: then hedges are made. */
  readonly idempotent: boolean;
  /** The status that an answer counts as: 200, or 246 where a guardrail found fault. */
  statusOf(answer: Answer): number;
  /** Ends an answer that is not read any further. */
  discard(answer: Answer): void;
  /** @throws the signal's reason when it is aborted meanwhile */
  sleep(ms: number, signal: AbortLike): Promise<void>;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** From 0 to below 1. */
  random(): number;
  readonly circuits: Circuits;
  readonly sticky: StickyTargets;
  readonly loads: Loads;
  readonly conditions: ConditionContext;
  /** Told of every step, for explanations; undefined when no explanation was asked for. */
  readonly trace: Trace | undefined;
}

/** Circuit breakers by target. */
export interface Circuits {
  /** Whether a target with a breaker may be called now, and how to tell how it went. */
  enter(target: TargetPlan): Promise<CircuitPass>;
}

/** Answer of a breaker. */
export interface CircuitPass {
  readonly allowed: boolean;
  /** Milliseconds until it is worth asking again; 0 when allowed. */
  readonly retryAfterMs: number;
  /** How the call went. Waits for nothing. */
  report(failed: boolean): void;
}

/** Which target a caller stays with. */
export interface StickyTargets {
  /**
   * The index that the call is bound to in this load balance; `chosen` when it was not bound yet, and from now on.
   * Undefined when the call has none of the fields.
   */
  claim(plan: BalancePlan, chosen: number): Promise<number | undefined>;
  /** Where the call's conversation has its prompt cached. @param chosen the target for one that has none */
  warm(plan: BalancePlan, chosen: number): Promise<Warmth>;
}

/** Where a conversation goes. */
export interface Warmth {
  /** What tells it from others; `none` where its prompt is too short to be cached. */
  readonly key: 'given' | 'prompt' | 'none';
  /** Undefined: where the strategy sends it. */
  readonly index: number | undefined;
  /** Whether its prompt was sent there before, within the cache's life. */
  readonly warm: boolean;
  readonly ttlMs: number;
  readonly tokens: number;
  readonly minTokens: number;
  /** The target answered: it is warm from now on. Waits for nothing. */
  answered(index: number): void;
}
