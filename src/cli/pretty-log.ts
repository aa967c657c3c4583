// The process log for people: a line with the time, the level and what was logged, on a terminal alone.
import { styleText } from 'node:util';
import type { DestinationStream } from 'pino';

type Environment = Readonly<Record<string, string | undefined>>;
type Style = Parameters<typeof styleText>[0];

const LEVELS: Readonly<Record<number, readonly [name: string, style: Style]>> = {
  10: ['TRACE', 'dim'],
  20: ['DEBUG', 'dim'],
  30: ['INFO', 'green'],
  40: ['WARN', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'red'],
};
const OWN = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err']);

/** Undefined where it is no terminal: the log is JSON there. @param env NO_COLOR counts, whatever it says */
export function prettyLog(
  out: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>,
  env: Environment,
): DestinationStream | undefined {
  if (out.isTTY !== true) return undefined;
  const colours = (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  const paint = (style: Style, text: string): string =>
    colours ? styleText(style, text, { validateStream: false }) : text;
  return { write: (line) => void out.write(`${prettyLine(line, paint)}\n`) };
}

function prettyLine(line: string, paint: (style: Style, text: string) => string): string {
  const entry = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const [name, style] = LEVELS[Number(entry.level)] ?? ['LOG', 'dim'];
  const { message } = (entry.err ?? {}) as { readonly message?: string };
  const more = Object.entries(entry)
    .filter(([member]) => !OWN.has(member))
    .map(([member, value]) => `${member}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return plain(
    [
      paint('dim', new Date(Number(entry.time)).toTimeString().slice(0, 8)),
      paint(style, name.padEnd(5)),
      String(entry.msg ?? ''),
      ...(message === undefined ? [] : [paint('red', message)]),
      ...(more.length === 0 ? [] : [paint('dim', more.join(' '))]),
    ].join(' '),
  );
}

/** What callers wrote moves no cursor: of control characters only those of the styles stay. */
function plain(text: string): string {
  const mark = String.fromCharCode(27);
  return text
    .split(new RegExp(`(${mark}\\[\\d+m)`))
    .map((part, i) => (i % 2 === 1 ? part : part.replaceAll(/\p{Cc}/gu, ' ')))
    .join('');
}
