// The published form of what a hook came to.
import type { Hook } from '../hook.ts';
import type { CheckResult, FeedbackResult, HookResult } from './hook-result.ts';

/** Whether a hook may write to the call. */
export function rewrites({ checks }: Hook): boolean {
  return checks.some((check) => check.rewrites);
}

/** A hook's result over its checks' results. @param createdAt in Unix milliseconds; @param closed see RanHook */
export function resultOf(
  hook: Hook,
  results: readonly CheckResult[],
  createdAt: number,
  tookMs: number,
  closed = false,
): HookResult {
  const verdict = results.every((result) => result.verdict);
  return {
    id: hook.id,
    type: hook.type,
    verdict,
    transformed: results.some(({ transformed }) => transformed),
    checks: results,
    feedback: feedbackOf(hook, verdict, results),
    execution_time: Math.round(tookMs),
    async: hook.async,
    created_at: new Date(createdAt).toISOString(),
    deny: hook.deny || closed,
    ...(hook.versionId === undefined ? {} : { guardrail_version_id: hook.versionId }),
  };
}

function feedbackOf(hook: Hook, verdict: boolean, results: readonly CheckResult[]): FeedbackResult | null {
  const feedback = verdict ? hook.onSuccess : hook.onFail;
  if (feedback === undefined) return null;
  const ids = (of: (result: CheckResult) => boolean) =>
    results
      .filter(of)
      .map(({ id }) => id)
      .join(',');
  return {
    value: feedback.value,
    weight: feedback.weight,
    metadata: {
      ...feedback.metadata,
      successfulChecks: ids((result) => result.verdict && result.error === undefined),
      failedChecks: ids((result) => !result.verdict),
      erroredChecks: ids((result) => result.error !== undefined),
    },
  };
}
