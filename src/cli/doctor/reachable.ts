// Whether a host takes connections.
import { connect } from 'node:net';

const WITHIN_MS = 3000;

/** Undefined: it does. Else why not, in words. */
export function reachable(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port });
    const end = (why: string | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(why);
    };
    const timer = setTimeout(() => end(`no answer within ${WITHIN_MS / 1000} s`), WITHIN_MS);
    socket.once('connect', () => end(undefined));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(`cannot be reached (${error.code ?? error.message})`),
    );
  });
}
