// Hedged calls: a further one when none has answered yet; the first answer counts, the others are ended.
import type { AbortLike } from '../../lib/abort.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { HedgePlan } from '../plan/plan.ts';
import { LinkedAborter, reasonOf } from './linked.ts';

/** What can be started. */
export type Start<Answer> = (signal: AbortLike) => Promise<Answer>;

export interface RaceDeps<Answer> {
  /** The next call to start; undefined when there is none. `early` says that none has failed: it is a hedge. */
  next(early: boolean): Start<Answer> | undefined;
  /** Whether a failure of the newest call, or of the only one, is followed by the next call. */
  moveOn(error: unknown): boolean;
  discard(answer: Answer): void;
  sleep(ms: number, signal: AbortLike): Promise<void>;
  onHedge(): void;
}

interface Run<Answer> {
  readonly aborter: LinkedAborter;
  readonly settled: Promise<Outcome<Answer>>;
}

type Outcome<Answer> =
  | { readonly run: Run<Answer>; readonly answer: Answer }
  | { readonly run: Run<Answer>; readonly error: unknown };

/** Starts calls until one answers. Resolves when all others have ended. @throws what the last one threw */
export async function race<Answer>(
  hedge: HedgePlan,
  deps: RaceDeps<Answer>,
  signal: AbortLike,
): Promise<Answer> {
  const running = new Set<Run<Answer>>();
  let latest: Run<Answer> | undefined;
  let hedges = 0;
  const launch = (start: Start<Answer>): void => {
    const aborter = new LinkedAborter(signal);
    const run: Run<Answer> = {
      aborter,
      settled: start(aborter).then(
        (answer) => ({ run, answer }),
        (error: unknown) => ({ run, error }),
      ),
    };
    running.add(run);
    latest = run;
  };
  const first = deps.next(false);
  if (first === undefined) throw new Error('a race needs a runner');
  launch(first);
  try {
    for (;;) {
      const mayHedge = hedges < hedge.max;
      const outcome = await nextOutcome(running, mayHedge ? hedge.afterMs : undefined, deps, signal);
      if (outcome === undefined) {
        hedges++;
        const start = deps.next(true);
        if (start === undefined) hedges = hedge.max;
        else {
          deps.onHedge();
          launch(start);
        }
        continue;
      }
      running.delete(outcome.run);
      // A stream goes on under its own signal, which follows the call's.
      if ('answer' in outcome) return outcome.answer;
      outcome.run.aborter.unlink();
      if (signal.aborted) {
        if (running.size > 0) continue;
        throw reasonOf(signal);
      }
      // An older call that is still under way holds nothing up.
      const isLast = outcome.run === latest || running.size === 0;
      const start = isLast && deps.moveOn(outcome.error) ? deps.next(false) : undefined;
      if (start !== undefined) launch(start);
      else if (running.size === 0) throw outcome.error;
    }
  } finally {
    await endAll(running, deps);
  }
}

/** The first to settle; undefined when the time is over before. */
async function nextOutcome<Answer>(
  running: ReadonlySet<Run<Answer>>,
  afterMs: number | undefined,
  { sleep }: RaceDeps<Answer>,
  signal: AbortLike,
): Promise<Outcome<Answer> | undefined> {
  const settled = [...running].map((run) => run.settled);
  if (afterMs === undefined) return Promise.race(settled);
  const timer = new LinkedAborter(signal);
  const late = sleep(afterMs, timer).then(
    () => undefined,
    // The call was given up, of which those under way tell themselves.
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([...settled, late]);
  } finally {
    timer.unlink();
    timer.abort(overtaken());
  }
}

async function endAll<Answer>(running: ReadonlySet<Run<Answer>>, deps: RaceDeps<Answer>): Promise<void> {
  if (running.size === 0) return;
  for (const { aborter } of running) aborter.abort(overtaken());
  for (const outcome of await Promise.all([...running].map((run) => run.settled))) {
    outcome.run.aborter.unlink();
    if ('answer' in outcome) deps.discard(outcome.answer);
  }
}

function overtaken(): GatewayError {
  return fail('client_closed', 'another attempt answered first');
}
