// What must hold of a batch whose gateway was killed.
import type { BatchProof } from './run.ts';

/** What does not hold, in words. */
export function faultsOf(proof: BatchProof, rows: number, atOnce: number): string[] {
  const { status, kills, lines, answered, asked, entries } = proof;
  const attempts = entries.flatMap((entry) => entry.attempts);
  const good = attempts.filter(({ outcome }) => outcome === 'success').length;
  const facts: readonly (readonly [boolean, string])[] = [
    [status === 'completed', `the batch is ${status}`],
    [kills > 0, 'no kill came'],
    [lines === rows, `${lines} lines of ${rows} rows`],
    [answered === rows, `${answered} rows are answered of ${rows}`],
    [
      asked <= rows + kills * atOnce,
      `the provider was asked ${asked} times: ${kills} kills at ${atOnce} rows at once`,
    ],
    [attempts.length >= asked, `${attempts.length} attempts in the books of ${asked} calls`],
    [good >= rows - kills * atOnce, `${good} attempts ended well`],
    [
      attempts.every(
        ({ outcome }) => outcome === 'success' || outcome === 'interrupted' || outcome === 'cancelled',
      ),
      'an attempt is neither a success nor interrupted',
    ],
  ];
  return facts.flatMap(([holds, words]) => (holds ? [] : [words]));
}
