// Checks of several hooks at once. What is promised:
//
// 1. Checks that only judge, and checks that ask an address (webhooks), run in parallel, whether they stand in one hook
//    or in several. The checks of a hook with `sequential` run one after another; the hook runs parallel to others.
// 2. Checks that write by themselves (regexReplace, addPrefix) run in the listed order, each on what the ones before
//    left. A check that asks sees the text that the checks before it left: redacted text goes to no address.
// 3. When all have answered, what was written is applied in the listed order. Changes of different texts are put
//    together. Where a check changed a text that one listed before it changed too, its rewrite is dropped and it runs
//    again on what the others left, so that both stand; its result says `asked_again`.
import type { AbortLike } from '../../lib/abort.ts';
import type { Hook, HookCheck } from '../hook.ts';
import type { CheckResult } from './hook-result.ts';
import { CONFLICT, merged } from './merge.ts';
import { type RanCheck, type RunnerDeps, runCheck } from './run-check.ts';
import { type Run, withWritten } from './run-state.ts';

/** What the checks of one hook came to. */
export interface RanHook {
  readonly results: ReadonlyMap<HookCheck, CheckResult>;
  /** Headers that its checks add to the caller's, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** A check could not judge for a reason that a caller can bring about. */
  readonly closed: boolean;
  /** Its checks took from its start to the last one's end, in milliseconds. */
  readonly tookMs: number;
}

/** All hooks, and the call as they left it. */
export interface RanHooks {
  readonly hooks: ReadonlyMap<Hook, RanHook>;
  readonly run: Run;
}

/** Checks that run one after another: one, or all of a hook with `sequential`. */
interface Unit {
  readonly notes: Notes;
  readonly checks: readonly HookCheck[];
  /** Waits for others: nothing waits for it. */
  readonly asks: boolean;
}

interface Started {
  readonly unit: Unit;
  readonly base: Run;
  readonly after: Promise<Run>;
}

/** Runs hooks of one kind over the call. @throws the signal's reason when the caller gives up */
export async function runSideBySide(
  hooks: readonly Hook[],
  first: Run,
  deps: RunnerDeps,
  signal: AbortLike,
): Promise<RanHooks> {
  const noted = new Map<Hook, Notes>();
  const judging: Promise<unknown>[] = [];
  const writing: Started[] = [];
  /** What the checks that write by themselves have left so far. */
  let state = first;
  for (const hook of hooks) {
    const notes = new Notes();
    noted.set(hook, notes);
    const judges = hook.sequential ? [] : hook.checks.filter(({ rewrites }) => !rewrites);
    // A hook that calls an address sees the text after earlier redactions; a hook that only judges sees all.
    const seen = hook.checks.some(({ rewrites }) => rewrites) ? state : first;
    for (const check of judges) judging.push(handled(runUnit(unitOf(notes, check), seen, deps, signal)));
    for (const unit of unitsOf(hook, notes)) {
      const after = handled(runUnit(unit, state, deps, signal));
      writing.push({ unit, base: state, after });
      if (!unit.asks) state = await after;
    }
  }
  const run = await applied(writing, first, deps, signal);
  await Promise.all(judging);
  return { hooks: new Map([...noted].map(([hook, notes]) => [hook, notes.ran()])), run };
}

/** What was written, in the listed order. */
async function applied(
  writing: readonly Started[],
  first: Run,
  deps: RunnerDeps,
  signal: AbortLike,
): Promise<Run> {
  let current = first;
  for (const { unit, base, after } of writing) {
    const left = await after;
    if (base === current) current = left;
    else if (unit.asks && left === base) continue;
    else {
      const joined = unit.asks ? joinedRun(base, left, current) : undefined;
      current = joined ?? (await runUnit(unit, current, deps, signal, true));
    }
  }
  return current;
}

/** The changes from `base` to `left` put into `current`; undefined when both changed the same text. */
function joinedRun(base: Run, left: Run, current: Run): Run | undefined {
  const request = merged(base.traffic.request.json, left.traffic.request.json, current.traffic.request.json);
  const response = merged(
    base.traffic.response?.json,
    left.traffic.response?.json,
    current.traffic.response?.json,
  );
  if (request === CONFLICT || response === CONFLICT) return undefined;
  const { traffic } = current;
  return withWritten(current, {
    ...(request === traffic.request.json ? {} : { request: request as Run['traffic']['request']['json'] }),
    ...(response === traffic.response?.json
      ? {}
      : { response: response as Run['traffic']['request']['json'] }),
  });
}

async function runUnit(
  { notes, checks, asks }: Unit,
  run: Run,
  deps: RunnerDeps,
  signal: AbortLike,
  again = false,
): Promise<Run> {
  let after = run;
  for (const check of checks) {
    const ran = await runCheck(check, after, deps, signal);
    notes.add(check, ran, again && asks);
    if (ran.written !== undefined) after = withWritten(after, ran.written);
  }
  return after;
}

function unitsOf({ checks, sequential }: Hook, notes: Notes): Unit[] {
  if (!sequential) return checks.filter(({ rewrites }) => rewrites).map((check) => unitOf(notes, check));
  const asks = checks.some((check) => check.asks || !check.rewrites);
  return [{ notes, checks, asks }];
}

function unitOf(notes: Notes, check: HookCheck): Unit {
  return { notes, checks: [check], asks: check.asks };
}

/** A promise that is awaited later: until then its rejection counts as handled. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** What the checks of one hook say as they end. */
class Notes {
  readonly #startedAt = performance.now();
  readonly #results = new Map<HookCheck, CheckResult>();
  readonly #headers = new Map<HookCheck, RanCheck['headers']>();
  readonly #closed = new Set<HookCheck>();
  #endedAt = this.#startedAt;

  add(check: HookCheck, { result, headers, closed }: RanCheck, again: boolean): void {
    this.#results.set(check, again ? { ...result, asked_again: true } : result);
    this.#headers.set(check, headers);
    if (closed) this.#closed.add(check);
    else this.#closed.delete(check);
    this.#endedAt = performance.now();
  }

  ran(): RanHook {
    return {
      results: this.#results,
      headers: Object.assign({}, ...this.#headers.values()) as Record<string, string>,
      closed: this.#closed.size > 0,
      tookMs: this.#endedAt - this.#startedAt,
    };
  }
}
