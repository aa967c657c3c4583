// The runner: what the pipeline calls before and after a call.
import { Aborter, type AbortLike } from '../../lib/abort.ts';
import type { Hook } from '../hook.ts';
import type { Api, Traffic } from '../view/traffic.ts';
import type { HookResult, HookRun, SkippedHook } from './hook-result.ts';
import type { RunnerDeps } from './run-check.ts';
import { type RanHook, type Run, rewrites, runHook } from './run-hook.ts';

/** Runs hooks. */
export interface GuardrailRunner {
  /**
   * Runs the hooks of one side over the call. Mutators run first, one after another, each on what the one before left.
   * Guardrails then run at once; those of them that may write run in turn. Async hooks are started and not waited for.
   * @param hooks `guardrails.input` before the call, `guardrails.output` after it (with `traffic.response` set)
   * @param signal ends the run when the caller leaves or the call's time is up
   * @param later told of async hooks
   * @throws the signal's reason, and nothing else: what goes wrong in a check is in its result
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

/** Hooks that go on when the answer has gone out. */
export interface LaterHooks {
  /** One is started. What is answered is told once what it came to; undefined: it came to no end. */
  started(hook: Hook): (result: HookResult | undefined) => void;
}

/** What a runner is made from. */
export interface RunnerOptions {
  readonly deps: RunnerDeps;
  /** Told what an async hook came to: its answer has gone out. */
  onAsync?(result: HookResult, traffic: Traffic): void;
  /** Async hooks running at most; one above it is not started and told to `onDropped`. Default 2,000. */
  readonly maxAsync?: number;
  onDropped?(hook: Hook, traffic: Traffic): void;
}

/** APIs whose answers hold text that can be examined. */
const ANSWERS_WITH_TEXT: ReadonlySet<Api> = new Set(['chat', 'completions', 'responses', 'messages']);

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
    const work = runHook(hook, run, deps, aborter)
      .then(({ result }) => {
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
      const one = (hook: Hook, over: Run) => note(hook, runHook(hook, over, deps, signal), ledger);
      const mutators = live.filter(({ type, async }) => type === 'mutator' && !async);
      const run = await inTurn(mutators, first, one);
      for (const hook of live.filter(({ async }) => async)) {
        start(hook, run, later);
        results.set(hook, skipped(hook));
      }
      const guardrails = live.filter(({ type, async }) => type === 'guardrail' && !async);
      const atOnce = guardrails.filter((hook) => !rewrites(hook)).map((hook) => one(hook, run));
      const [after] = await Promise.all([inTurn(guardrails.filter(rewrites), run, one), ...atOnce]);
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

async function note(hook: Hook, running: Promise<RanHook>, { results, headers }: Ledger): Promise<Run> {
  const ran = await running;
  results.set(hook, ran.result);
  Object.assign(headers, ran.headers);
  return ran.run;
}

async function inTurn(
  hooks: readonly Hook[],
  first: Run,
  one: (hook: Hook, over: Run) => Promise<Run>,
): Promise<Run> {
  let run = first;
  for (const hook of hooks) run = await one(hook, run);
  return run;
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
  const failed = hooks.filter((hook) => {
    const result = results.get(hook);
    return result !== undefined && 'verdict' in result && !result.verdict;
  });
  const denying = failed.filter(({ deny }) => deny);
  return {
    results: hooks.flatMap((hook) => results.get(hook) ?? []),
    decision: denying.length > 0 ? 'deny' : failed.length > 0 ? 'flag' : 'pass',
    soft: denying.length > 0 && denying.every(({ softDeny }) => softDeny),
    headers,
    request: traffic.request.json,
    response: traffic.response?.json,
  };
}
