// The command line of `npm run bench`.
import { parseArgs } from 'node:util';

export const CASES = [
  'in-process',
  'chat-small',
  'chat-large',
  'chat-config',
  'streams',
  'streams-paced',
  'messages-whole',
  'messages-stream',
  'responses-whole',
  'responses-stream',
  'first-event',
  'pass-through',
  'idle-streams',
  'everything-on',
  'memory',
  'start',
] as const;
export type CaseName = (typeof CASES)[number];

/** What is run, and for how long. */
export interface Options {
  readonly quick: boolean;
  /** Start Sluice with the CPU profiler, and print where the time went. */
  readonly profile: boolean;
  readonly cases: ReadonlySet<CaseName>;
  readonly rounds: number;
  /** Seconds of one measured run and of the run that warms it up. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** Of the run that warms up a target's first measured run of a case. */
  readonly firstWarmUpSeconds: number;
}

export const USAGE = `usage: npm run bench -- [--quick] [--profile] [--only ${CASES.join('|')}]...
  --quick    about a minute, for a first look (also BENCH_QUICK=1): coarse figures, no paced streams
  --only     one case; may be repeated
  --profile  Sluice alone under the CPU profiler: prints the functions that cost most`;

/** @throws Error with the usage when an argument is not known. */
export function readOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: env.BENCH_QUICK === '1' },
      profile: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', default: false },
    },
  });
  const only = values.only.flatMap((text) => text.split(','));
  if (values.help || only.some((name) => !(CASES as readonly string[]).includes(name)))
    throw new Error(USAGE);
  return {
    quick: values.quick,
    profile: values.profile,
    cases: new Set(
      only.length > 0
        ? (only as CaseName[])
        : CASES.filter((name) => !values.quick || name !== 'streams-paced'),
    ),
    rounds: values.quick ? 2 : 5,
    seconds: values.quick ? 1 : 3,
    warmUpSeconds: 1,
    firstWarmUpSeconds: values.quick ? 2 : 8,
  };
}
