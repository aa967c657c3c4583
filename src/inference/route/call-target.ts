// One target of a plan: its breaker asked, called within its time, and called again as its retries say.
import type { AbortLike } from '../../lib/abort.ts';
import { fail, GatewayError, toGatewayError } from '../../lib/errors.ts';
import { timedOut } from '../../lib/request-timeout.ts';
import type { RetryPlan, TargetPlan } from '../plan/plan.ts';
import { type Wait, waitBefore } from './backoff.ts';
import { LinkedAborter, reasonOf } from './linked.ts';
import type { CircuitPass, RoutePorts } from './ports.ts';

/** An answer and how it was come by. */
export interface Reached<Answer> {
  readonly answer: Answer;
  readonly target: TargetPlan;
  /** Calls of this target before the one that answered; -1 when there may be no more and it does not suffice. */
  readonly retries: number;
}

/** How one attempt went: `status` is 200 where nothing is wrong. */
type Tried<Answer> =
  | { readonly status: number; readonly answer: Answer; readonly failure?: undefined }
  | { readonly status: number; readonly answer?: undefined; readonly failure: GatewayError };

/**
 * Calls a target until it answers or may not be called again.
 * @param deadline no further attempt begins at or after it
 * @param forced whether its breaker is passed over
 * @param onTry told before each attempt how many there were; -1 when the target is given up
 * @throws GatewayError of the last attempt; circuit_open when there was none
 */
export async function callTarget<Answer>(
  plan: TargetPlan,
  ports: RoutePorts<Answer>,
  deadline: number,
  signal: AbortLike,
  forced: boolean,
  onTry: (retries: number) => void,
): Promise<Reached<Answer>> {
  const { retry } = plan;
  let waitedMs = 0;
  let before: GatewayError | undefined;
  for (let tries = 0; ; tries++) {
    if (signal.aborted) throw reasonOf(signal);
    const pass = plan.breaker && (await ports.circuits.enter(plan));
    if (pass !== undefined && !pass.allowed && !forced) throw before ?? leftAlone(plan, ports, pass);
    onTry(tries);
    const tried = await tryOnce(plan, ports, signal, tries);
    if (tried.failure !== undefined && signal.aborted) throw tried.failure;
    // What never reached the provider says nothing of it.
    if (pass !== undefined && saysOfProvider(tried)) pass.report(isFailure(plan, tried));
    const wanted = retry !== undefined && isRetried(retry, tried);
    const wait =
      wanted && tries < retry.attempts ? mayWait(retry, tried, tries, waitedMs, ports, deadline) : undefined;
    if (wait === undefined) {
      const givenUp = wanted && retry.attempts > 0;
      if (givenUp) onTry(-1);
      if (tried.failure !== undefined) throw tried.failure;
      return { answer: tried.answer, target: plan, retries: givenUp ? -1 : tries };
    }
    before = tried.failure ?? unsatisfying(tried.status);
    if (tried.failure === undefined) ports.discard(tried.answer);
    if (wait.why === 'retry_after') waitedMs += wait.ms;
    if (wait.ms === 0) continue;
    ports.trace?.({ step: 'wait', path: plan.path, ms: wait.ms, why: wait.why });
    await ports.sleep(wait.ms, signal);
  }
}

async function tryOnce<Answer>(
  plan: TargetPlan,
  ports: RoutePorts<Answer>,
  signal: AbortLike,
  tries: number,
): Promise<Tried<Answer>> {
  const began = ports.now();
  let tried: Tried<Answer>;
  try {
    const preparing = ports.prepare?.(plan, signal);
    if (preparing !== undefined) await preparing;
    const answer = await withinTime(plan, ports, signal);
    tried = { status: ports.statusOf(answer), answer };
  } catch (thrown) {
    const failure = toGatewayError(thrown);
    tried = { status: failure.status, failure };
  }
  ports.trace?.({
    step: 'attempt',
    path: plan.path,
    try: tries,
    status: tried.status,
    ms: Math.round((ports.now() - began) * 1000) / 1000,
    ...(tried.failure === undefined ? {} : { error: tried.failure.reason }),
  });
  return tried;
}

/** One attempt within its time. */
async function withinTime<Answer>(
  plan: TargetPlan,
  { attempt, sleep }: RoutePorts<Answer>,
  signal: AbortLike,
): Promise<Answer> {
  const { timeoutMs } = plan;
  if (timeoutMs === undefined) return attempt(plan, signal, nothing);
  const own = new LinkedAborter(signal);
  const timer = new LinkedAborter(signal);
  sleep(timeoutMs, timer).then(
    () => own.abort(timedOut(timeoutMs)),
    () => {},
  );
  const stop = (): void => {
    timer.unlink();
    timer.abort(timedOut(timeoutMs));
  };
  try {
    // A stream goes on under this signal, without its time.
    return await attempt(plan, own, stop);
  } catch (error) {
    own.unlink();
    throw error;
  } finally {
    stop();
  }
}

const nothing = (): void => {};

/** The wait before the next try; undefined when it would be too long. */
function mayWait<Answer>(
  retry: RetryPlan,
  { failure }: Tried<Answer>,
  tries: number,
  waitedMs: number,
  { now, random }: RoutePorts<Answer>,
  deadline: number,
): Wait {
  const wait = waitBefore(retry, failure, tries + 1, waitedMs, random());
  return wait !== undefined && now() + wait.ms < deadline ? wait : undefined;
}

/** A provider that could not be reached has done nothing yet: it is called again whatever the list says. */
function isRetried({ statuses }: RetryPlan, { status, failure }: Tried<unknown>): boolean {
  if (failure === undefined && status === 200) return false;
  // A limit of the target: it says when to come again, and a retry before that is refused too.
  if (failure?.reason === 'rate_limited' || failure?.reason === 'budget_exhausted') return false;
  return statuses.has(status) || failure?.reason === 'upstream_unreachable';
}

/** Whether an attempt shows how its provider does: not one that was refused on the way there, or found fault with here. */
function saysOfProvider({ failure }: Tried<unknown>): boolean {
  return failure === undefined || isOfProvider(failure);
}

/** Whether an error is what the provider did, or did not in its time. */
export function isOfProvider(error: unknown): boolean {
  return (
    error instanceof GatewayError &&
    (error.reason.startsWith('upstream_') || error.reason === 'request_timeout')
  );
}

function isFailure({ breaker }: TargetPlan, { status, failure }: Tried<unknown>): boolean {
  if (failure === undefined) return false;
  return breaker?.statuses?.has(status) ?? (status >= 500 || failure.reason === 'request_timeout');
}

/** An answer that a plan moves on from. */
export function unsatisfying(status: number): GatewayError {
  return fail('guardrail_denied', 'the guardrail checks defined in the config failed', { status });
}

function leftAlone<Answer>(
  { path, provider }: TargetPlan,
  { trace }: RoutePorts<Answer>,
  { retryAfterMs }: CircuitPass,
): GatewayError {
  trace?.({ step: 'circuit_open', path, retry_after_ms: retryAfterMs });
  return fail('circuit_open', `${path} is left alone for a while because it failed too often`, {
    retryAfterMs,
    ...(provider === undefined ? {} : { provider: provider.id }),
  });
}

/** Whether a target was not called at all because of its breaker. */
export function isOpen(error: unknown): boolean {
  return error instanceof GatewayError && error.reason === 'circuit_open';
}

export function statusOf(error: unknown): number {
  return toGatewayError(error).status;
}
