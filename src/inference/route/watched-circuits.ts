// What this process sees of circuit breakers, for its metrics: how often one kept a call back, and how many do so now.
import type { CircuitStore } from './circuits.ts';

/** Breakers that are remembered as open. */
const MOST = 10_000;

export interface CircuitCounts {
  /** Calls of targets that were kept back. */
  refused(): number;
  /** Breakers that have kept a call back and are still open as far as this process knows. */
  open(): number;
}

/** A store of circuits that counts what it answers. */
export function watchedCircuits(store: CircuitStore): { circuits: CircuitStore; counts: CircuitCounts } {
  /** Until when, by the organisation and the breaker's key. */
  const open = new Map<string, number>();
  let refused = 0;
  return {
    circuits: {
      async allowCircuit(organisationId, call, bound) {
        const answer = await store.allowCircuit(organisationId, call, bound);
        const name = `${organisationId} ${call.key}`;
        if (answer.allowed) {
          if (open.size > 0) open.delete(name);
        } else {
          refused++;
          if (open.size < MOST) open.set(name, performance.now() + answer.retryAfterMs);
        }
        return answer;
      },
      reportCircuit: (organisationId, report) => store.reportCircuit(organisationId, report),
      readCircuit: (organisationId, rules, bound) => store.readCircuit(organisationId, rules, bound),
    },
    counts: {
      refused: () => refused,
      open() {
        const now = performance.now();
        for (const [name, until] of open) if (until <= now) open.delete(name);
        return open.size;
      },
    },
  };
}
