// Circuits in memory.

import { LruCache } from '../../lib/lru-cache.ts';
import { CIRCUIT_SLICES, type Circuit, type CircuitRules, opens } from '../shared/circuit.ts';
import type { Body } from './call.ts';

/** Circuits kept at the most. */
const MOST_CIRCUITS = 50_000;

interface Counts {
  failures: number;
  outcomes: number;
}

interface Kept {
  /** By slice. */
  readonly slices: Map<number, Counts>;
  openUntil: number;
  probe: string | undefined;
  probeUntil: number;
}

export function circuitBodies(): {
  readonly allow: Body<'allowCircuit'>;
  readonly report: Body<'reportCircuit'>;
  readonly read: Body<'readCircuit'>;
} {
  // Callers choose the names, so the number is bounded.
  const circuits = new LruCache<Kept>(MOST_CIRCUITS);

  const nameOf = (org: string, key: string): string => `${org}\0${key}`;
  const fresh = (openUntil = 0): Kept => ({ slices: new Map(), openUntil, probe: undefined, probeUntil: 0 });

  function circuitOf(org: string, key: string): Kept {
    const name = nameOf(org, key);
    const found = circuits.get(name) ?? fresh();
    circuits.set(name, found);
    return found;
  }

  function view(kept: Kept | undefined, rules: CircuitRules, ms: number): Circuit {
    const oldest = sliceOf(rules, ms) - CIRCUIT_SLICES;
    let [failures, outcomes] = [0, 0];
    for (const [slice, counts] of kept?.slices ?? []) {
      if (slice < oldest) continue;
      failures += counts.failures;
      outcomes += counts.outcomes;
    }
    const openUntil = kept?.openUntil ?? 0;
    const state = openUntil === 0 ? 'closed' : ms < openUntil ? 'open' : 'half_open';
    return { state, failures, outcomes, openUntil };
  }

  function count(kept: Kept, rules: CircuitRules, failed: boolean, ms: number): void {
    const slice = sliceOf(rules, ms);
    for (const old of kept.slices.keys()) if (old < slice - CIRCUIT_SLICES) kept.slices.delete(old);
    const counts = kept.slices.get(slice) ?? { failures: 0, outcomes: 0 };
    counts.outcomes++;
    if (failed) counts.failures++;
    kept.slices.set(slice, counts);
    if (!failed) return;
    const { failures, outcomes } = view(kept, rules, ms);
    if (opens(rules, failures, outcomes)) {
      kept.openUntil = ms + rules.openMs;
    }
  }

  return {
    allow: (org, call, { ms }) => {
      const kept = circuits.get(nameOf(org, call.key));
      const seen = view(kept, call, ms);
      if (kept === undefined || seen.state === 'closed') {
        return { ...seen, allowed: true, probe: false, retryAfterMs: 0 };
      }
      if (seen.state === 'open') {
        return { ...seen, allowed: false, probe: false, retryAfterMs: kept.openUntil - ms };
      }
      if (kept.probe !== undefined && kept.probeUntil > ms && kept.probe !== call.caller) {
        return { ...seen, allowed: false, probe: false, retryAfterMs: kept.probeUntil - ms };
      }
      kept.probe = call.caller;
      kept.probeUntil = ms + call.probeMs;
      return { ...seen, allowed: true, probe: true, retryAfterMs: 0 };
    },

    report: (org, report, { ms }) => {
      const kept = circuitOf(org, report.key);
      const { state } = view(kept, report, ms);
      if (state === 'closed') {
        count(kept, report, report.failed, ms);
      } else if (state === 'half_open' && kept.probe === report.caller && kept.probeUntil > ms) {
        if (report.failed) circuits.set(nameOf(org, report.key), fresh(ms + report.openMs));
        else circuits.delete(nameOf(org, report.key));
      }
      return view(circuits.get(nameOf(org, report.key)), report, ms);
    },

    read: (org, rules, { ms }) => view(circuits.get(nameOf(org, rules.key)), rules, ms),
  };
}

function sliceOf(rules: CircuitRules, ms: number): number {
  return Math.floor(ms / Math.ceil(rules.windowMs / CIRCUIT_SLICES));
}
