// A program of the operator's settings as a child process: lines in, lines out, ended with all that it started.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { StdioCommand } from '../../lib/stdio-commands.ts';

export interface ProgramEvents {
  /** A line of its standard output. */
  readonly line: (text: string) => void;
  /** A line of its standard error, cut to a bound; `dropped` lines before it were too many. */
  readonly said: (text: string, dropped: number) => void;
  /** Once. @param why in words without its arguments or variables */
  readonly ended: (why: string) => void;
  /** A line is longer than the bound, or the program does not read what it is sent. */
  readonly broken: (what: string) => void;
}

/** After the end of its input, and after SIGTERM. */
const GRACE_MS = 2000;
const MOST_SAID = 2000;
const SAID_PER_SECOND = 20;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Programs that run: none outlives this process when that ends by itself. */
const running = new Set<Child>();

export class Program {
  readonly #child: Child;
  readonly #events: ProgramEvents;
  readonly #most: number;
  #isOver = false;
  #isEnding = false;

  /** @param most bytes of one line, and of lines that the program has not read yet */
  constructor({ command, args, env, cwd }: StdioCommand, most: number, events: ProgramEvents) {
    this.#events = events;
    this.#most = most;
    if (running.size === 0) process.on('exit', endAll);
    // A group of its own: what it starts ends with it, and a terminal's signals do not reach it.
    this.#child = spawn(command, [...args], {
      env,
      ...(cwd === undefined ? {} : { cwd }),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
    });
    running.add(this.#child);
    this.#watch();
  }

  /** A message on a line. */
  send(line: string): void {
    const { stdin } = this.#child;
    if (this.#isOver || this.#isEnding || stdin.destroyed) return;
    stdin.write(`${line}\n`);
    if (stdin.writableLength > this.#most) this.#events.broken('does not read what it is sent');
  }

  /** Closes its input; a program that stays is ended with its group. */
  end(): void {
    if (this.#isEnding || this.#isOver) return;
    this.#isEnding = true;
    this.#child.stdin.end();
    const steps = (['SIGTERM', 'SIGKILL'] as const).map((signal, i) =>
      setTimeout(() => signalGroup(this.#child, signal), GRACE_MS * (i + 1)),
    );
    // What it has started may outlive it.
    this.#child.once('exit', () => {
      for (const step of steps) clearTimeout(step);
      signalGroup(this.#child, 'SIGKILL');
    });
  }

  #watch(): void {
    const child = this.#child;
    const over = (why: string): void => {
      if (this.#isOver) return;
      this.#isOver = true;
      running.delete(child);
      if (running.size === 0) process.removeListener('exit', endAll);
      if (!this.#isEnding) signalGroup(child, 'SIGKILL');
      this.#events.ended(why);
    };
    child.once('error', (error: NodeJS.ErrnoException) => over(`it cannot be started (${error.code ?? ''})`));
    child.once('exit', (code, signal) => over(`it has ended (${signal ?? `exit code ${code}`})`));
    child.stdin.on('error', () => {});
    readLines(
      child.stdout,
      this.#most,
      (line) => this.#events.line(line),
      () => this.#events.broken('sent a line that is too long'),
    );
    this.#readErrors();
  }

  #readErrors(): void {
    let [second, count, dropped] = [0, 0, 0];
    const say = (line: string): void => {
      const now = Math.floor(Date.now() / 1000);
      if (now !== second) [second, count] = [now, 0];
      if (++count > SAID_PER_SECOND) dropped++;
      else {
        this.#events.said(line.slice(0, MOST_SAID), dropped);
        dropped = 0;
      }
    };
    // A longer line is told in parts.
    readLines(this.#child.stderr, MOST_SAID, say, undefined);
  }
}

/** @param tooLong called for a longer line, whose stream is read no more; undefined: it is cut into parts */
function readLines(
  stream: Readable,
  most: number,
  take: (line: string) => void,
  tooLong: (() => void) | undefined,
): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const read = (piece: Buffer): void => {
    const parts = (rest + decoder.write(piece)).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) if (line.trim() !== '') take(line);
    if (rest.length <= most) return;
    if (tooLong === undefined) take(rest);
    else {
      stream.removeListener('data', read);
      stream.resume();
      tooLong();
    }
    rest = '';
  };
  stream.on('data', read);
  stream.on('error', () => {});
}

function signalGroup(child: Child, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group is gone, or the system has none.
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
  }
}

function endAll(): void {
  for (const child of running) signalGroup(child, 'SIGKILL');
}
