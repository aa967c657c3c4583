// The runner: what the pipeline calls before and after a call.
import { Aborter, type AbortLike } from '../../lib/abort.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { Hook } from '../hook.ts';
import type { Api, Traffic } from '../view/traffic.ts';
import type { CheckResult, HookResult, HookRun, SkippedHook } from './hook-result.ts';
import { resultOf } from './result-of.ts';
import type { RunnerDeps } from './run-check.ts';
import type { Run } from './run-state.ts';
import { type RanHook, runSideBySide } from './side-by-side.ts';

/** Runs hooks. */
export interface GuardrailRunner {
  /**
   * Runs the hooks of one side over the call. Mutators run first, one after another, each on what the one before left.
   * Guardrails then run side by side (`side-by-side.ts`). Async hooks are started and not waited for.
   * @param hooks `guardrails.input` before the call, `guardrails.output` after it (with `traffic.response` set)
   * @param signal ends the run when the caller leaves or the call's time is up
   * @param later told of async hooks
   * @throws the signal's reason; GatewayError overloaded (503) when there is no worker for a mandatory hook. What else
   * goes wrong in a check is in its result
   */
  run(
    hooks: readonly Hook[],
    traffic: Traffic,
    signal: AbortLike,
    later?: LaterHooks | undefined,
  ): Promise<HookRun>;
  /** Async hooks still running. */
  readonly pending: number;
  /** Waits for async hooks, at most so many milliseconds, then ends them; resolves with how many were ended. */
  drain(ms: number): Promise<number>;
}

/** Hooks that continue after the answer. */
export interface LaterHooks {
  /** Called when one starts. The returned function is called once with its result; undefined: it did not finish. */
  started(hook: Hook): (result: HookResult | undefined) => void;
}

/** What a runner is made from. */
export interface RunnerOptions {
  readonly deps: RunnerDeps;
  /** Called with the result of an async hook, after the answer. */
  onAsync?(result: HookResult, traffic: Traffic): void;
  /** The most async hooks that run; further ones are not started and passed to `onDropped`. Default 2,000. */
  readonly maxAsync?: number;
  onDropped?(hook: Hook, traffic: Traffic): void;
}

/** When a call that found no worker may come again. */
const RETRY_AFTER_MS = 1000;

/** APIs whose answers hold text that can be examined. */
const ANSWERS_WITH_TEXT: ReadonlySet<Api> = new Set([
  'transcripts',
  'chat',
  'completions',
  'responses',
  'messages',
  'gemini',
  'converse',
  'tools',
  'invoke',
]);

/** Makes the runner. */
export function createGuardrailRunner({
  deps,
  onAsync,
  onDropped,
  maxAsync = 2000,
}: RunnerOptions): GuardrailRunner {
  const pending = new Set<Promise<void>>();
  const aborter = new Aborter();

  function start(hook: Hook, run: Run, later: LaterHooks | undefined): void {
    const ended = later?.started(hook);
    if (pending.size >= maxAsync || aborter.aborted) {
      onDropped?.(hook, run.traffic);
      ended?.(undefined);
      return;
    }
    // The caller's signal ends with the answer; an async hook outlives it and ends by its checks' own time.
    const createdAt = deps.clock.now();
    const work = runSideBySide([hook], run, deps, aborter)
      .then(({ hooks }) => {
        const result = resultIn(hooks, hook, createdAt);
        ended?.(result);
        onAsync?.(result, run.traffic);
      })
      .catch((error: unknown) => {
        ended?.(undefined);
        if (aborter.aborted) onDropped?.(hook, run.traffic);
        else deps.report?.(error, hook.id);
      })
      .finally(() => pending.delete(work));
    pending.add(work);
  }

  return {
    async run(hooks, traffic, signal, later) {
      const first: Run = {
        event: traffic.response === undefined ? 'input' : 'output',
        traffic,
        transformed: { request: traffic.requestTransformed ?? false, response: false },
      };
      const ledger: Ledger = { results: new Map(), headers: {} };
      const { results } = ledger;
      if (hooks.length === 0) return outcome(hooks, ledger, first);
      const live = hooks.filter((hook) => {
        if (applies(hook, traffic)) return true;
        results.set(hook, skipped(hook));
        return false;
      });
      const note = async (group: readonly Hook[], over: Run): Promise<Run> => {
        const createdAt = deps.clock.now();
        const ran = await runSideBySide(group, over, deps, signal);
        for (const hook of group) {
          results.set(hook, resultIn(ran.hooks, hook, createdAt));
          Object.assign(ledger.headers, ran.hooks.get(hook)?.headers);
        }
        return ran.run;
      };
      let run = first;
      for (const hook of live) if (hook.type === 'mutator' && !hook.async) run = await note([hook], run);
      for (const hook of live.filter(({ async }) => async)) {
        start(hook, run, later);
        results.set(hook, skipped(hook));
      }
      const guardrails = live.filter(({ type, async }) => type === 'guardrail' && !async);
      const after = guardrails.length === 0 ? run : await note(guardrails, run);
      return outcome(hooks, ledger, after);
    },
    get pending() {
      return pending.size;
    },
    async drain(ms) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
      });
      // An async hook does not start another one, but calls that are still going on may.
      const settled = (async () => {
        while (pending.size > 0) await Promise.all(pending);
      })();
      await Promise.race([settled, late]);
      clearTimeout(timer);
      const left = pending.size;
      aborter.abort(new Error('the gateway is shutting down'));
      await Promise.all(pending);
      return left;
    },
  };
}

/** What the hooks of one run came to, as they end. */
interface Ledger {
  readonly results: Map<Hook, HookResult | SkippedHook>;
  readonly headers: Record<string, string>;
}

function resultIn(ran: ReadonlyMap<Hook, RanHook>, hook: Hook, createdAt: number): HookResult {
  const { results, closed, tookMs } = ran.get(hook)!;
  const inOrder = hook.checks.flatMap((check) => results.get(check) ?? []);
  return resultOf(hook, inOrder, createdAt, tookMs, closed);
}

/** Async mutators would write when it is too late; answers that failed or hold no text are not examined. */
function applies(hook: Hook, { api, response }: Traffic): boolean {
  if (hook.checks.length === 0 || (hook.type === 'mutator' && hook.async)) return false;
  return response === undefined || (response.status === 200 && ANSWERS_WITH_TEXT.has(api));
}

function skipped({ id, type, async }: Hook): SkippedHook {
  return { id, type, skipped: true, async };
}

function outcome(hooks: readonly Hook[], { results, headers }: Ledger, { traffic }: Run): HookRun {
  refuseOverload(hooks, results);
  const failed = hooks.flatMap((hook) => {
    const result = results.get(hook);
    return result !== undefined && 'verdict' in result && !result.verdict ? [{ hook, result }] : [];
  });
  const denying = failed.filter(({ result }) => result.deny);
  return {
    results: hooks.flatMap((hook) => results.get(hook) ?? []),
    decision: denying.length > 0 ? 'deny' : failed.length > 0 ? 'flag' : 'pass',
    soft: denying.length > 0 && denying.every(({ hook }) => hook.softDeny),
    headers,
    request: traffic.request.json,
    response: traffic.response?.json,
  };
}

/** What every call must pass and cannot be run is no verdict on the call. @throws GatewayError overloaded */
function refuseOverload(hooks: readonly Hook[], results: Ledger['results']): void {
  for (const hook of hooks) {
    const result = results.get(hook);
    if (result !== undefined && 'checks' in result && isOverloaded(hook, result.checks))
      throw overloaded(hook);
  }
}

/** Whether a check of a mandatory hook found no worker. */
export function isOverloaded({ mandatory }: Hook, checks: readonly CheckResult[]): boolean {
  return mandatory && checks.some(({ error }) => error?.name === 'OverloadedError');
}

/** The error of a call whose mandatory guardrail found no worker: 503. */
export function overloaded({ id }: Hook): GatewayError {
  return fail(
    'overloaded',
    `the guardrail ${id} must judge this call and cannot now: try again in a moment`,
    {
      retryAfterMs: RETRY_AFTER_MS,
    },
  );
}
