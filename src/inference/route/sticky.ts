// Which target of a load balance a caller stays with: for a time, and where instances share state in all of them.
import { createHash } from 'node:crypto';
import { LruCache } from '../../lib/lru-cache.ts';
import type { SharedState } from '../../store/shared-state.ts';
import type { BalancePlan } from '../plan/plan.ts';
import { type AffinityStore, warmTarget } from './affinity.ts';
import { fieldValue, type StickyInput } from './call-fields.ts';
import type { StickyTargets } from './ports.ts';

const MOST_KEPT = 100_000;
/** What asking the other instances may cost a call, in milliseconds. */
const DEADLINE_MS = 250;

interface Binding {
  readonly index: number;
  readonly endsAt: number;
}

/** Bindings: of this process first, then those of all processes. */
export class StickyStore {
  readonly #bindings = new LruCache<Binding>(MOST_KEPT);
  readonly #state: Pick<SharedState, 'acquireLease'> | undefined;
  readonly #now: () => number;

  constructor(state: Pick<SharedState, 'acquireLease'> | undefined, now: () => number) {
    this.#state = state;
    this.#now = now;
  }

  /** The index bound to the key; `chosen` from now on for `ttlMs` when there was none. */
  async claim(organisationId: string, key: string, chosen: number, ttlMs: number): Promise<number> {
    const name = `${organisationId}\0${key}`;
    const kept = this.#bindings.get(name);
    if (kept !== undefined && kept.endsAt > this.#now()) return kept.index;
    const binding =
      this.#state === undefined
        ? { index: chosen, endsAt: this.#now() + ttlMs }
        : await this.#shared(organisationId, key, chosen, ttlMs);
    this.#bindings.set(name, binding);
    return binding.index;
  }

  /** A lease whose owner is the target: the first to choose decides for all instances. */
  async #shared(organisationId: string, key: string, chosen: number, ttlMs: number): Promise<Binding> {
    const local: Binding = { index: chosen, endsAt: this.#now() + ttlMs };
    try {
      const lease = await this.#state!.acquireLease(
        organisationId,
        { key: `sticky-${key}`, owner: `target-${chosen}`, leaseMs: ttlMs },
        { deadlineMs: DEADLINE_MS },
      );
      const index = Number(/^target-(\d{1,4})$/.exec(lease.owner)?.[1]);
      return Number.isInteger(index) ? { index, endsAt: lease.expiresAt } : local;
    } catch {
      return local;
    }
  }
}

/** The sticky targets of one call. */
export function stickyTargets(
  store: StickyStore,
  affinity: AffinityStore,
  input: StickyInput,
): StickyTargets {
  return {
    warm: (plan, chosen) => warmTarget(affinity, plan, chosen, input),
    async claim(plan, chosen) {
      const key = keyOf(plan, input);
      if (key === undefined) return undefined;
      const index = await store.claim(input.organisationId, key, chosen, plan.sticky!.ttlMs);
      return index < plan.targets.length ? index : undefined;
    },
  };
}

/** Undefined when the call has none of the fields. */
function keyOf(plan: BalancePlan, input: StickyInput): string | undefined {
  const values = plan.sticky!.fields.map((field) => fieldValue(field, input));
  if (values.every((value) => value === undefined)) return undefined;
  const parts = [
    input.workspaceId,
    input.plan.id,
    plan.path,
    ...values.map((value) => JSON.stringify(value) ?? ''),
  ];
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 40);
}
