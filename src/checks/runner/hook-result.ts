// The results of hooks, as they appear in `hook_results` of an answer (data-plane facts, 5.3).
import type { JsonObject } from '../view/traffic.ts';

/** One check's part. */
export interface CheckResult {
  readonly id: string;
  readonly verdict: boolean;
  readonly data: JsonObject | null;
  /** In milliseconds. */
  readonly execution_time: number;
  readonly transformed: boolean;
  /** ISO 8601. */
  readonly created_at: string;
  readonly log: null;
  readonly fail_on_error: boolean;
  /** It was asked again: another check before it in the list rewrote the same text. */
  readonly asked_again?: true;
  readonly error?: { readonly name: string; readonly message: string };
}

/** Feedback as given in the hook, its metadata with the ids of the checks by outcome, joined by commas. */
export interface FeedbackResult {
  readonly value: number;
  readonly weight: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** One hook's part. */
export interface HookResult {
  readonly id: string;
  readonly type: 'guardrail' | 'mutator';
  readonly verdict: boolean;
  readonly transformed: boolean;
  readonly checks: readonly CheckResult[];
  readonly feedback: FeedbackResult | null;
  readonly execution_time: number;
  readonly async: boolean;
  readonly created_at: string;
  /** A failed verdict denies the call: by the hook's setting, or because a check that writes could not. */
  readonly deny: boolean;
  readonly guardrail_version_id?: string;
}

/** A hook whose result the answer does not wait for, or that does not apply to this kind of call. */
export interface SkippedHook {
  readonly id: string;
  readonly type: 'guardrail' | 'mutator';
  readonly skipped: true;
  readonly async: boolean;
}

/** The member `hook_results` of an answer. */
export interface HookResults {
  readonly before_request_hooks: readonly (HookResult | SkippedHook)[];
  readonly after_request_hooks: readonly (HookResult | SkippedHook)[];
}

/** Status of an answer whose checks failed without deny. */
export const FLAGGED_STATUS = 246;

/** What the hooks of one side came to. */
export interface HookRun {
  readonly results: readonly (HookResult | SkippedHook)[];
  /** `deny`: answer 446 and call no provider. `flag`: go on, and answer 246 if the answer is a 200. */
  readonly decision: 'pass' | 'flag' | 'deny';
  /** A denial that is answered with 200 and a reply: every hook that denied asks for it. */
  readonly soft: boolean;
  /**
   * Headers that checks add to the caller's (claims of a token), in place of what the caller sent under these names; an
   * empty one takes the caller's away.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** The request as the hooks left it; the same object when none wrote to it. */
  readonly request: JsonObject;
  /** The answer as the hooks left it, when there was one. */
  readonly response: JsonObject | undefined;
}
