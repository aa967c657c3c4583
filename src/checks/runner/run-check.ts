// One run of one check: its time bounded, whatever it throws put in words.
import type { AbortLike } from '../../lib/abort.ts';
import { GatewayError } from '../../lib/errors.ts';
import {
  type CheckContext,
  type CheckDeps,
  CheckFailure,
  type CheckOutcome,
  isOfCaller,
} from '../contract/check.ts';
import type { HookCheck } from '../hook.ts';
import { deadline, orAbort } from '../outward/deadline.ts';
import type { JsonObject } from '../view/traffic.ts';
import type { CheckResult } from './hook-result.ts';

/** What checks are given, less the signal, which each run has of its own. */
export type RunnerDeps = Omit<CheckDeps, 'signal'> & {
  /** Called with errors that are no CheckFailure: faults of the gateway itself. */
  report?(error: unknown, check: string): void;
};

/** A check's result, and the body of the examined side if the check wrote one. */
export interface RanCheck {
  readonly result: CheckResult;
  readonly written: { readonly request?: JsonObject; readonly response?: JsonObject } | undefined;
  /** Headers to add to the caller's. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** It could not judge for a reason that a caller can bring about: its hook denies the call. */
  readonly closed: boolean;
}

function closedBy({ message }: CheckFailure): string {
  return `The check could not be completed, and counts as failed: ${message}.`;
}

/** Runs a check. @throws the signal's reason when the caller gives up */
export async function runCheck(
  check: HookCheck,
  context: Omit<CheckContext, 'scope' | 'beside'>,
  deps: RunnerDeps,
  signal: AbortLike,
): Promise<RanCheck> {
  const startedAt = performance.now();
  const created = new Date(deps.clock.now()).toISOString();
  const own = { ...context, scope: check.scope, beside: check.beside };
  const { outcome, error } = await attempt(check, own, deps, signal);
  const closed = error !== undefined && check.onError.closed && isOfCaller(error);
  const verdict = error === undefined ? outcome.verdict : !closed && check.onError.default === 'pass';
  const written = error === undefined || verdict ? outcome.transformed : undefined;
  return {
    written,
    headers: verdict && error === undefined ? outcome.headers : undefined,
    closed,
    result: {
      id: check.id,
      verdict,
      data: closed ? { verdict, explanation: closedBy(error) } : outcome.data,
      execution_time: Math.round(performance.now() - startedAt),
      transformed: written !== undefined,
      created_at: created,
      log: null,
      fail_on_error: closed || check.onError.default === 'fail',
      ...(error === undefined ? {} : { error: { name: error.name, message: error.message } }),
    },
  };
}

async function attempt(
  check: HookCheck,
  context: CheckContext,
  deps: RunnerDeps,
  signal: AbortLike,
): Promise<{ readonly outcome: CheckOutcome; readonly error: CheckFailure | undefined }> {
  const { timeoutMs } = check;
  const late = () => new CheckFailure('TimeoutError', `the check took longer than ${timeoutMs} ms`);
  const limit = deadline(signal, timeoutMs, late);
  try {
    const running = (async () => check.bound.run(context, { ...deps, signal: limit.signal }))();
    const outcome = await orAbort(running, limit.signal);
    return { outcome, error: outcome.error };
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    return { outcome: { verdict: false, data: null }, error: failureOf(thrown, check.id, deps) };
  } finally {
    limit.release();
  }
}

function failureOf(thrown: unknown, check: string, { report }: RunnerDeps): CheckFailure {
  if (thrown instanceof CheckFailure) return thrown;
  if (thrown instanceof GatewayError) return new CheckFailure('CallFailedError', thrown.message);
  report?.(thrown, check);
  return new CheckFailure('CheckError', 'the check failed');
}
