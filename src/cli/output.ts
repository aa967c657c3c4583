// What commands print: tables for people, JSON for machines, colours on a terminal alone.
import { styleText } from 'node:util';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where a command prints, and how. */
export interface Output {
  /** What the lines go to. */
  readonly stream: NodeJS.WritableStream;
  /** Aborted when nothing that is printed arrives any more. */
  readonly ended: AbortSignal;
  line(text?: string): void;
  json(value: unknown): void;
  table(head: readonly string[], rows: readonly (readonly string[])[]): void;
  paint(style: Parameters<typeof styleText>[0], text: string): string;
}

/** What a command reads its settings from and prints to. */
export interface Terminal {
  readonly env: Environment;
  readonly out: Output;
  /** Texts for people who watch, and reasons of failures: they are no output. */
  readonly tell: (line: string) => void;
}

/**
 * @param env NO_COLOR counts, whatever it says
 * @param ended aborted when nothing arrives any more; never if absent
 */
export function outputTo(
  stream: NodeJS.WriteStream,
  env: Environment,
  ended: AbortSignal = new AbortController().signal,
): Output {
  const colours = stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  const paint: Output['paint'] = (style, text) =>
    colours ? styleText(style, text, { validateStream: false }) : text;
  const line = (text = ''): void => void stream.write(`${text}\n`);
  return {
    stream,
    ended,
    line,
    paint,
    json: (value) => line(JSON.stringify(value)),
    table(head, rows) {
      const widths = head.map((name, i) =>
        Math.max(name.length, ...rows.map((row) => Math.min((row[i] ?? '').length, 60))),
      );
      const print = (cells: readonly string[]): string =>
        cells
          .map((cell, i) => (i === cells.length - 1 ? cell : clip(cell).padEnd(widths[i] ?? 0)))
          .join('  ')
          .trimEnd();
      line(paint('dim', print(head)));
      for (const row of rows) line(print(row.map(plain)));
    },
  };
}

function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** Names are others' texts: nothing in them moves a terminal's cursor. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ');
}
