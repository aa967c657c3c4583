// One hook: its checks at once, those that write one after another, and one verdict over all.
import type { AbortLike } from '../../lib/abort.ts';
import type { CheckContext } from '../contract/check.ts';
import type { Hook, HookCheck } from '../hook.ts';
import { requestBody, responseBody } from '../view/body-of.ts';
import type { JsonObject, Traffic } from '../view/traffic.ts';
import type { CheckResult, FeedbackResult, HookResult } from './hook-result.ts';
import { type RunnerDeps, runCheck } from './run-check.ts';

/** What a check is run over: the call as it stands, and which sides were written to. */
export type Run = Pick<CheckContext, 'event' | 'traffic' | 'transformed'>;

/** Headers by lower-case name. */
export type Headers = Readonly<Record<string, string>>;

/** A hook's result, and the call as the hook left it. */
export interface RanHook {
  readonly result: HookResult;
  readonly run: Run;
  /** Headers that its checks add to the caller's. */
  readonly headers: Headers;
}

/** Whether a hook may write to the call. */
export function rewrites({ checks }: Hook): boolean {
  return checks.some((check) => check.rewrites);
}

/** Runs a hook. @throws the signal's reason when the caller gives up */
export async function runHook(hook: Hook, run: Run, deps: RunnerDeps, signal: AbortLike): Promise<RanHook> {
  const startedAt = performance.now();
  const createdAt = deps.clock.now();
  const { results, after, headers } = await runChecks(hook, run, deps, signal);
  return { run: after, headers, result: resultOf(hook, results, createdAt, performance.now() - startedAt) };
}

/** A hook's result over its checks' results. @param createdAt in Unix milliseconds */
export function resultOf(
  hook: Hook,
  results: readonly CheckResult[],
  createdAt: number,
  tookMs: number,
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
    deny: hook.deny,
    ...(hook.versionId === undefined ? {} : { guardrail_version_id: hook.versionId }),
  };
}

async function runChecks(
  { checks, sequential }: Hook,
  run: Run,
  deps: RunnerDeps,
  signal: AbortLike,
): Promise<{ readonly results: readonly CheckResult[]; readonly after: Run; readonly headers: Headers }> {
  const results = new Map<HookCheck, CheckResult>();
  const added: Record<string, string> = {};
  let after = run;
  const inTurn = async (): Promise<void> => {
    for (const check of checks) {
      if (!sequential && !check.rewrites) continue;
      const { result, written, headers } = await runCheck(check, after, deps, signal);
      results.set(check, result);
      Object.assign(added, headers);
      if (written !== undefined) after = withWritten(after, written);
    }
  };
  const atOnce = checks
    .filter((check) => !sequential && !check.rewrites)
    .map(async (check) => {
      const { result, headers } = await runCheck(check, run, deps, signal);
      results.set(check, result);
      Object.assign(added, headers);
    });
  await Promise.all([inTurn(), ...atOnce]);
  return { results: checks.flatMap((check) => results.get(check) ?? []), after, headers: added };
}

/** The call with a body as a check wrote it. */
export function withWritten(run: Run, written: { request?: JsonObject; response?: JsonObject }): Run {
  const { traffic, transformed } = run;
  const { request, response } = written;
  const changed: Traffic = {
    ...traffic,
    request: request === undefined ? traffic.request : requestBody(traffic.api, request),
    response:
      response === undefined || traffic.response === undefined
        ? traffic.response
        : { ...responseBody(traffic.api, response), status: traffic.response.status },
  };
  return {
    ...run,
    traffic: changed,
    transformed: {
      request: transformed.request || request !== undefined,
      response: transformed.response || response !== undefined,
    },
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
