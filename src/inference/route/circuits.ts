// Circuit breakers over shared state: by tenant and by what a target is, its credential included, so that the same
// target in another config (or in an inline one) has the same breaker.
import { createHash, randomUUID } from 'node:crypto';
import { circuitBodies } from '../../store/memory/circuit.ts';
import { momentOf } from '../../store/memory/moment.ts';
import type { Circuit, CircuitRules, SharedState } from '../../store/shared-state.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { BreakerPlan, TargetPlan } from '../plan/plan.ts';
import type { CircuitPass, Circuits } from './ports.ts';

/** Where circuits live. */
export type CircuitStore = Pick<SharedState, 'allowCircuit' | 'reportCircuit' | 'readCircuit'>;

/** A breaker must not cost a call more than this, in milliseconds: a store that is slow lets calls through. */
const DEADLINE_MS = 250;
/** How long a probe may take before another one is let through, at the most. */
const LONGEST_PROBE_MS = 60_000;
const OPEN: CircuitPass = Object.freeze({ allowed: true, retryAfterMs: 0, report: () => {} });

/** Circuits of one process. */
export function localCircuits(now: () => number): CircuitStore {
  const bodies = circuitBodies();
  const moment = () => momentOf(now(), 0);
  return {
    allowCircuit: async (organisationId, call) => bodies.allow(organisationId, call, moment()),
    reportCircuit: async (organisationId, report) => bodies.report(organisationId, report, moment()),
    readCircuit: async (organisationId, rules) => bodies.read(organisationId, rules, moment()),
  };
}

/** The circuits of one call's targets. */
export function circuitsOf(
  store: CircuitStore,
  organisationId: string,
  workspaceId: string,
  bind: (target: TargetPlan) => BoundTarget | Promise<BoundTarget>,
): Circuits {
  return {
    async enter(plan) {
      const rules = rulesOf(plan, keyOf(workspaceId, await bind(plan)));
      const caller = randomUUID();
      try {
        const { allowed, retryAfterMs } = await store.allowCircuit(
          organisationId,
          { ...rules, caller },
          { deadlineMs: DEADLINE_MS },
        );
        return {
          allowed,
          retryAfterMs,
          report: (failed) =>
            void store.reportCircuit(organisationId, { ...rules, caller, failed }).catch(() => {}),
        };
      } catch {
        // The store is away: a breaker is no reason to refuse a call.
        return OPEN;
      }
    },
  };
}

/** The state of a target's breaker. @throws GatewayError store_unavailable */
export function circuitOf(
  store: CircuitStore,
  organisationId: string,
  workspaceId: string,
  bound: BoundTarget,
): Promise<Circuit> {
  return store.readCircuit(organisationId, rulesOf(bound.plan, keyOf(workspaceId, bound)), {
    deadlineMs: DEADLINE_MS,
  });
}

/** The key of a circuit: the workspace, the provider and host, and the credential. */
export function keyOf(workspaceId: string, { target }: BoundTarget): string {
  const { provider, customHost, apiKey, options } = target;
  const identity = [
    workspaceId,
    provider.id,
    customHost ?? '',
    apiKey ?? '',
    ...Object.entries(options).flat(),
  ];
  return `circuit-${createHash('sha256').update(identity.join('\0')).digest('hex').slice(0, 40)}`;
}

function rulesOf({ breaker, timeoutMs }: TargetPlan, key: string): CircuitRules {
  const { failures, percent, minimum, cooldownMs } = breaker as BreakerPlan;
  return {
    key,
    windowMs: cooldownMs,
    failures: failures ?? 1,
    percent: Math.ceil(percent ?? 0),
    minimum: percent === undefined ? 0 : minimum,
    either: failures !== undefined && percent !== undefined,
    openMs: cooldownMs,
    probeMs: Math.min(timeoutMs ?? LONGEST_PROBE_MS, LONGEST_PROBE_MS),
  };
}
