// The lines in which two texts differ, with a few around them.
import { Chunk } from '@codemirror/merge';
import { Text } from '@codemirror/state';

/** Lines that are shown before and after each change. */
const AROUND = 3;

export interface DiffLine {
  /** "gap": lines that are the same and not shown. */
  readonly kind: 'same' | 'gone' | 'came' | 'gap';
  readonly text: string;
}

export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [Text.of(before.split('\n')), Text.of(after.split('\n'))];
  const lines: DiffLine[] = [];
  let done = 0;
  for (const { fromA, endA, toA, fromB, endB, toB } of Chunk.build(a, b)) {
    const first = fromA > a.length ? a.lines : a.lineAt(fromA).number - 1;
    same(lines, a, done, first);
    if (toA > fromA) take(lines, 'gone', a, fromA, endA);
    if (toB > fromB) take(lines, 'came', b, fromB, endB);
    done = toA > a.length ? a.lines : a.lineAt(toA).number - 1;
  }
  if (lines.length > 0) same(lines, a, done, a.lines);
  return lines;
}

function take(lines: DiffLine[], kind: 'gone' | 'came', text: Text, from: number, to: number): void {
  const last = text.lineAt(Math.min(to, text.length)).number;
  for (let n = text.lineAt(Math.min(from, text.length)).number; n <= last; n++)
    lines.push({ kind, text: text.line(n).text });
}

/** Lines from index `from` up to `to`, without the middle of many. */
function same(lines: DiffLine[], text: Text, from: number, to: number): void {
  const isFirst = lines.length === 0;
  const isLast = to === text.lines;
  for (let i = from; i < to; i++) {
    const isNear = (!isFirst && i < from + AROUND) || (!isLast && i >= to - AROUND);
    if (isNear) lines.push({ kind: 'same', text: text.line(i + 1).text });
    else if (lines.at(-1)?.kind !== 'gap') lines.push({ kind: 'gap', text: '…' });
  }
}
