// Whether the entries stored equal the answers given: a run of a known number of requests, then all of them.
import { chatShot } from './cases.ts';
import { own } from './generate-load.ts';
import type { LoadResult } from './jobs.ts';
import type { Lab, Target } from './lab.ts';
import type { Options } from './options.ts';
import type { CaseReport } from './report.ts';
import { readBooks } from './sluice.ts';

const TRACE = 'bench-exact';

/** Stops Sluice, so that its books are closed, and reads them. */
export async function checkBooks(lab: Lab, options: Options): Promise<CaseReport> {
  const count = options.quick ? 5000 : 20_000;
  const target = lab.targets('chat').find(({ name }) => name === 'sluice') as Target;
  const shot = chatShot(target, 500);
  const exact = await own<LoadResult>({
    kind: 'closed',
    shot: { ...shot, headers: { ...shot.headers, 'x-gateway-trace-id': TRACE } },
    connections: 32,
    count,
  });
  lab.tally.answers += exact.answers;
  lab.tally.wrong += exact.wrong;
  await lab.stopSluice();
  const books = readBooks(lab.sluice.dataDir);
  const { entries, succeeded } = books.withTrace(TRACE);
  const { answers, wrong, cut } = lab.tally;
  const equal = exact.answers === count && entries === count && succeeded === count;
  // When time is up the load generator leaves what is under way: it got no answer, and the entry says
  // success or cancelled according to how far the call was.
  const bounded = books.succeeded >= answers && books.entries <= answers + wrong + cut;
  const faults: string[] = [];
  if (!equal) faults.push(`${count} requests, ${exact.answers} answers, ${entries} entries`);
  if (!bounded) faults.push(`${answers} answers, but ${books.succeeded} entries of success`);
  const said = lab.sluice.child
    .output()
    .split('\n')
    .filter((line) => line.includes('"level"'));
  for (const line of said.slice(0, 5)) faults.push(`sluice logged: ${line.slice(0, 300)}`);
  return {
    name: 'books',
    title: 'Entries stored and answers given',
    figures: {
      'exact run: answers': exact.answers,
      'exact run: entries': entries,
      'exact run: a second, Node.js as the client': exact.answers / exact.seconds,
      'whole bench: answers': answers,
      'whole bench: entries of success': books.succeeded,
      'whole bench: entries of cancelled calls': books.cancelled,
      'whole bench: requests cut at the ends of runs, at most': cut,
    },
    verdicts: [
      { rule: 'entries equal answers', found: `${entries} and ${exact.answers}`, holds: equal && bounded },
    ],
    faults,
  };
}
