// npm run bench: Sluice, nginx and the reference gateway side by side, in alternated rounds on one machine.
// Absolute figures differ from run to run and machine to machine; ratios within a run are what holds.
import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { checkBooks } from './books.ts';
import { cases, generatorNote } from './cases.ts';
import { withLab } from './lab.ts';
import { CASES, type Options, readOptions } from './options.ts';
import { mainProfile, printProfile } from './profile.ts';
import { REFERENCE_VERSION, SCRATCH } from './reference.ts';
import { type CaseReport, printCase, printVerdicts } from './report.ts';

async function main(options: Options): Promise<boolean> {
  const since = performance.now();
  const { reports, notes } = await withLab(options, async (lab) => {
    const all = [...lab.notes, ...(generatorNote === undefined ? [] : [generatorNote])];
    const load = loadavg()[0] ?? 0;
    if (load > 1)
      all.push(
        `this machine was busy when the bench began (load ${load.toFixed(1)}): trust ratios, and not too far`,
      );
    for (const note of all) console.log(`NOTE: ${note}`);
    const reports: CaseReport[] = [];
    for (const name of CASES) {
      if (!options.cases.has(name)) continue;
      const report = await cases[name](lab, options).catch((error: unknown) => failed(name, error));
      printCase(report);
      reports.push(report);
    }
    const books = await checkBooks(lab, options);
    printCase(books);
    if (options.profile) {
      const file = mainProfile(join(SCRATCH, 'profile'), lab.sluice.child.pid);
      if (file === undefined) all.push('no CPU profile was written');
      else printProfile(file);
    }
    return { reports: [...reports, books], notes: all };
  });
  printVerdicts(reports);
  const seconds = Math.round((performance.now() - since) / 1000);
  console.log(
    `\n${seconds} s on ${availableParallelism()} processors, Node.js ${process.version}; see bench.json`,
  );
  const faults = reports.flatMap((report) => report.faults);
  writeFileSync(
    'bench.json',
    `${JSON.stringify(
      {
        at: new Date().toISOString(),
        seconds,
        quick: options.quick,
        profiled: options.profile,
        rounds: options.rounds,
        processors: availableParallelism(),
        node: process.version,
        reference: REFERENCE_VERSION,
        notes,
        reports,
      },
      undefined,
      2,
    )}\n`,
  );
  if (faults.length > 0) console.error(`\nFAULTS\n  ${faults.join('\n  ')}`);
  return (
    faults.length === 0 && reports.every(({ verdicts }) => verdicts.every(({ holds }) => holds !== false))
  );
}

/** A case that broke is a fault; the others are measured all the same. */
function failed(name: string, error: unknown): CaseReport {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { name, title: name, verdicts: [], faults: [`${name} broke: ${text}`] };
}

main(readOptions(process.argv.slice(2), process.env)).then(
  (good) => {
    process.exitCode = good ? 0 : 1;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = 1;
  },
);
