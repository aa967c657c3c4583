// Alternated rounds of a closed loop: what disturbs the machine disturbs all targets alike.
import { cpuSeconds } from './child.ts';
import { generateLoad, own } from './generate-load.ts';
import type { ClosedJob, LoadResult, Shot } from './jobs.ts';
import type { Lab, Target, TargetName } from './lab.ts';
import { median } from './median.ts';
import type { Options } from './options.ts';

/** How a case loads each target. */
export interface Load {
  readonly connections: number;
  /** Shorter runs, warmed up in the first round only: for cases where little varies from second to second. */
  readonly brief?: boolean;
  /** Requests per run; absent: as many as fit into the options' seconds. */
  readonly count?: number;
  readonly shot: (target: Target) => Shot;
}

/** Medians over the rounds. */
export interface Measured {
  readonly target: TargetName;
  /** Right answers a second. */
  readonly perSecond: number;
  /** MB (10^6 bytes) a second, heads included. */
  readonly mbPerSecond: number;
  readonly p50Ms: number;
  /** Processors' worth of time that the process in the middle used. */
  readonly cores: number;
  /** Microseconds of processor time per right answer. */
  readonly cpuUs: number;
  /** All wrong answers and failures, of all rounds. */
  readonly wrong: number;
  /** Right answers a second in each round. */
  readonly rates: readonly number[];
}

interface Run {
  readonly result: LoadResult;
  readonly cpu: number;
}

/** Measures every target in every round, in rotated order. One that gives no right answer is not asked again. */
export async function measure(
  lab: Lab,
  options: Options,
  all: readonly Target[],
  load: Load,
): Promise<Measured[]> {
  // Under the profiler rates compare with nothing.
  const targets = options.profile ? all.filter(({ name }) => name === 'sluice') : all;
  const runs = new Map<Target, Run[]>(targets.map((target) => [target, []]));
  const dead = new Set<Target>();
  for (const target of targets) if (!(await answersRight(lab, target, load))) dead.add(target);
  for (let round = 0; round < options.rounds; round++) {
    for (let turn = 0; turn < targets.length; turn++) {
      const target = targets[(turn + round) % targets.length]!;
      if (dead.has(target)) continue;
      // Just-in-time compilers (two of the targets have one) are at their best after some 100,000 requests.
      const first = load.brief ? options.warmUpSeconds * 2 : options.firstWarmUpSeconds;
      const warmUp = round === 0 ? first : load.brief ? 0 : options.warmUpSeconds;
      const seconds = load.brief ? Math.min(options.seconds, 2) : options.seconds;
      const run = await oneRun(lab, seconds, warmUp, target, load);
      runs.get(target)!.push(run);
      if (run.result.answers === 0) dead.add(target);
    }
  }
  return targets.map((target) => summary(target, runs.get(target)!));
}

/** One exchange whose answer is looked at byte by byte: wrk sees little more than the status. */
async function answersRight(lab: Lab, target: Target, load: Load): Promise<boolean> {
  const result = await own<LoadResult>({
    kind: 'closed',
    shot: load.shot(target),
    connections: 1,
    count: 1,
  });
  note(lab, target, result);
  return result.answers === 1;
}

/** Counts what Sluice answered, for the books. */
function note({ tally }: Lab, target: Target, { answers, wrong, cut }: LoadResult): void {
  if (target.name !== 'sluice') return;
  tally.answers += answers;
  tally.wrong += wrong;
  tally.cut += cut;
}

async function oneRun(
  lab: Lab,
  seconds: number,
  warmUpSeconds: number,
  target: Target,
  load: Load,
): Promise<Run> {
  const shot = load.shot(target);
  const { connections, count } = load;
  const job = (limit: number): ClosedJob => ({
    kind: 'closed',
    shot,
    connections,
    ...(count === undefined ? { seconds: limit } : { count }),
  });
  const told = async (limit: number): Promise<LoadResult> => {
    const result = await generateLoad(job(limit), lab.folder);
    note(lab, target, result);
    return result;
  };
  const warmUp = count === undefined && warmUpSeconds > 0 ? await told(warmUpSeconds) : undefined;
  if (warmUp?.answers === 0) return { result: warmUp, cpu: 0 };
  const before = cpuSeconds(target.pid);
  const result = await told(seconds);
  const cpu = cpuSeconds(target.pid) - before;
  return { result: { ...result, wrong: result.wrong + (warmUp?.wrong ?? 0) }, cpu };
}

function summary({ name }: Target, runs: readonly Run[]): Measured {
  const of = (read: (run: Run) => number): number => median(runs.map(read));
  const perAnswer = ({ result, cpu }: Run): number =>
    result.answers === 0 ? 0 : (cpu * 1e6) / result.answers;
  return {
    target: name,
    perSecond: of(({ result }) => result.answers / result.seconds),
    mbPerSecond: of(({ result }) => result.bytes / 1e6 / result.seconds),
    p50Ms: of(({ result }) => result.p50Ms),
    cores: of(({ result, cpu }) => cpu / result.seconds),
    cpuUs: of(perAnswer),
    wrong: runs.reduce((sum, { result }) => sum + result.wrong, 0),
    rates: runs.map(({ result }) => Math.round((result.answers / result.seconds) * 10) / 10),
  };
}

/**
 * How many times the other's rate: the median of the rounds' own ratios, so that what slowed a
 * whole round down does not count. Undefined when there is nothing to compare with.
 */
export function ratioOf(ours: Measured | undefined, theirs: Measured | undefined): number | undefined {
  if (ours === undefined || theirs === undefined || theirs.perSecond === 0) return undefined;
  const rounds = Math.min(ours.rates.length, theirs.rates.length);
  return median(ours.rates.slice(0, rounds).map((rate, round) => rate / theirs.rates[round]!));
}
