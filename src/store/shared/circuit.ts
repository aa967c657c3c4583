// Circuit state: closed, open after failures in a window, half open with one probe at a time.
import { BOUNDS, checkId, checkSpan, checkWhole } from './bounds.ts';

export interface CircuitRules {
  readonly key: string;
  /** Outcomes are counted in ten slices of this span, the partly left one included. */
  readonly windowMs: number;
  /** This many failures in the window open it. */
  readonly failures: number;
  /** And only when they are at least this share of all outcomes, in percent; 0 by default. */
  readonly percent?: number;
  /** Outcomes in the window before the percentage counts; 0 by default. */
  readonly minimum?: number;
  /** Whether the number of failures or their share suffices, each by itself. */
  readonly either?: boolean;
  readonly openMs: number;
  /** How long a probe may take before another is let through. */
  readonly probeMs: number;
}

export interface CircuitCall extends CircuitRules {
  /** Names the probe. */
  readonly caller: string;
}

export interface CircuitReport extends CircuitCall {
  readonly failed: boolean;
}

export interface Circuit {
  readonly state: 'closed' | 'open' | 'half_open';
  readonly failures: number;
  readonly outcomes: number;
  /** Unix milliseconds of the store; 0 when closed. */
  readonly openUntil: number;
}

export interface CircuitAnswer extends Circuit {
  readonly allowed: boolean;
  /** The caller is the probe, and its report decides. */
  readonly probe: boolean;
  /** 0 when allowed. */
  readonly retryAfterMs: number;
}

export const CIRCUIT_SLICES = 10;

/** Whether so many failures of so many outcomes open it. */
export function opens(rules: CircuitRules, failures: number, outcomes: number): boolean {
  const many = failures >= rules.failures;
  const share = outcomes >= (rules.minimum ?? 0) && failures * 100 >= (rules.percent ?? 0) * outcomes;
  return rules.either === true ? many || share : many && share;
}

export function checkCircuit(rules: CircuitRules): void {
  checkId('key', rules.key);
  checkSpan('windowMs', rules.windowMs);
  checkWhole('failures', rules.failures, 1, BOUNDS.count);
  checkWhole('percent', rules.percent ?? 0, 0, 100);
  checkWhole('minimum', rules.minimum ?? 0, 0, BOUNDS.count);
  checkSpan('openMs', rules.openMs);
  checkSpan('probeMs', rules.probeMs);
}

export function checkCircuitCall(call: CircuitCall): void {
  checkCircuit(call);
  checkId('caller', call.caller);
}
