// What a process prints goes to a pipe that its reader may close, or to a disk that may be full: neither is a crash.

/** Codes of a reader that is gone: a closed pipe, a terminal that was closed. */
const GONE = new Set(['EPIPE', 'EIO', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

/** The output, and the place that reasons are told. */
export interface Printed {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
}

/**
 * Takes the errors of both streams from now on. A reader that has enough is no failure; any other error is told once.
 * @param onFailed the output cannot be written
 * @returns aborted as soon as nothing that is printed arrives: who prints without end ends
 */
export function watchOutput({ stdout, stderr }: Printed, onFailed: () => void): AbortSignal {
  const ended = new AbortController();
  stderr.on('error', () => undefined);
  stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (ended.signal.aborted) return;
    ended.abort();
    if (code !== undefined && GONE.has(code)) return;
    onFailed();
    stderr.write(`the output cannot be written${code === undefined ? '' : ` (${code})`}\n`);
  });
  return ended.signal;
}
