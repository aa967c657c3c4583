// A guardrail as the runner takes it.
import type { BoundCheck, Scope } from './contract/check.ts';
import type { Event } from './view/traffic.ts';

/** A fault of a config and where it is. */
export interface PathFault {
  path: string;
  message: string;
}

/** The feedback of a hook that passed or failed. */
export interface Feedback {
  readonly value: number;
  readonly weight: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What an error of a check counts as. */
export type OnError = 'pass' | 'fail';

/**
 * What an error of a check counts as: the configured value, else the check's own default; `closed` where none is set
 * and the hook denies or the check rewrites by itself: then an error that a caller can cause denies the call.
 */
export interface ErrorRule {
  readonly default: OnError;
  readonly closed: boolean;
}

/** A check within a hook. */
export interface HookCheck {
  /** The check's full id, e.g. `default.contains`. */
  readonly id: string;
  readonly bound: BoundCheck;
  /** May write to the bodies. */
  readonly rewrites: boolean;
  /** Asks an address whether to write. */
  readonly asks: boolean;
  readonly scope: Scope;
  readonly beside: boolean | undefined;
  readonly onError: ErrorRule;
  /** Longest time of a run, in milliseconds. */
  readonly timeoutMs: number;
}

/** A group of checks with one verdict. */
export interface Hook {
  readonly id: string;
  readonly type: 'guardrail' | 'mutator';
  readonly event: Event;
  readonly checks: readonly HookCheck[];
  /** A failed verdict answers 446 in place of 246. */
  readonly deny: boolean;
  /** A denial is answered with 200 and a reply that says so, for clients that show any other status as a fault. */
  readonly softDeny: boolean;
  /** Runs in parallel with the call, which does not wait for it and which it cannot stop. */
  readonly async: boolean;
  /** Checks one after another, in their order, each on what the one before left. */
  readonly sequential: boolean;
  readonly onSuccess: Feedback | undefined;
  readonly onFail: Feedback | undefined;
  readonly versionId: string | undefined;
  /** Every call of the workspace passes it: when there is no worker for its checks, the call is a 503. */
  readonly mandatory: boolean;
}

/** A guardrail named by its id or slug, to be looked up in the caller's workspace. */
export interface SavedGuardrail {
  readonly id: string;
  readonly event: Event;
  /** Where the config names it. */
  readonly path: string;
}

/** The hooks of a config. */
export interface Guardrails {
  readonly input: readonly Hook[];
  readonly output: readonly Hook[];
  /** Named and not yet looked up; `withSaved` puts the found ones in. */
  readonly saved: readonly SavedGuardrail[];
}

/** The place of a hook in a config: which side, which kind, which of the two forms. */
export interface Place {
  readonly event: Event;
  readonly type: 'guardrail' | 'mutator';
  readonly short: boolean;
  /** Names a hook that has no id by its place in the list. */
  readonly name: string;
  /** Every call passes it: it looks at the whole conversation unless it says otherwise. */
  readonly mandatory?: boolean;
}
