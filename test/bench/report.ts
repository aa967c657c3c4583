// What was found, as lines for people and as JSON.
import { type Measured, ratioOf } from './rounds.ts';

/** A rule of the contract with the project, and whether it holds. */
export interface Verdict {
  readonly rule: string;
  readonly found: string;
  /** Undefined: not measured. */
  readonly holds: boolean | undefined;
}

/** One case. */
export interface CaseReport {
  readonly name: string;
  readonly title: string;
  readonly measured?: readonly Measured[];
  readonly figures?: Readonly<Record<string, number>>;
  readonly verdicts: readonly Verdict[];
  /** What makes the whole bench fail: wrong answers, books that do not match. */
  readonly faults: readonly string[];
}

export function printCase(report: CaseReport): void {
  console.log(`\n${report.title}`);
  if (report.measured) printMeasured(report.measured);
  for (const [what, figure] of Object.entries(report.figures ?? {}))
    console.log(`  ${what.padEnd(52)} ${rounded(figure)}`);
  for (const fault of report.faults) console.log(`  FAULT: ${fault}`);
}

function printMeasured(rows: readonly Measured[]): void {
  const head = ['', '/s', 'MB/s', 'p50 ms', 'cores', 'CPU us', 'wrong', 'to nginx', 'to reference', 'rounds'];
  const nginx = rows.find((row) => row.target === 'nginx');
  const reference = rows.find((row) => row.target === 'reference');
  const table = rows.map((row) => [
    row.target,
    rounded(row.perSecond),
    rounded(row.mbPerSecond),
    rounded(row.p50Ms),
    row.cores.toFixed(2),
    rounded(row.cpuUs),
    String(row.wrong),
    ratioOf(row, nginx)?.toFixed(3) ?? '-',
    ratioOf(row, reference)?.toFixed(3) ?? '-',
    row.rates.map((rate) => (rate >= 100 ? Math.round(rate) : rate)).join(' '),
  ]);
  const widths = head.map((text, column) =>
    Math.max(...[text, ...table.map((row) => row[column] ?? '')].map((cell) => cell.length)),
  );
  for (const row of [head, ...table]) {
    const cells = row.map((cell, i) =>
      i === 0 || i === row.length - 1 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!),
    );
    console.log(`  ${cells.join('  ').trimEnd()}`);
  }
}

export function rounded(figure: number): string {
  return figure >= 100
    ? Math.round(figure).toLocaleString('en')
    : figure.toFixed(figure >= 10 ? 1 : figure >= 0.01 || figure === 0 ? 2 : 4);
}

export function printVerdicts(reports: readonly CaseReport[]): void {
  console.log('\nMust hold');
  for (const { verdicts } of reports) {
    for (const { rule, found, holds } of verdicts) {
      const word = holds === undefined ? 'NOT MEASURED' : holds ? 'holds' : 'DOES NOT HOLD';
      console.log(`  ${word.padEnd(13)}  ${rule}: ${found}`);
    }
  }
}
