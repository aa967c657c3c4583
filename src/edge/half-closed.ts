// Clients that end their side of the connection after the request and wait for the answer, told from those that leave.
import type { Connection } from './connections.ts';

/** A client that ends its side this soon after its request waits for the answer. */
const EARLY_MS = 100;
const FIRST_PROBE_MS = 500;
/** Times between two probes: the first brings the reset, which the next one meets. */
const PROBE_MS = [100, 500, 2000];
const LATER_PROBE_MS = 15_000;

/**
 * Call it when the client has sent its end. TCP does not tell one that left from one that waits: it is asked by an interim
 * answer (RFC 9110, part 15.2), which a connection that was closed answers with a reset.
 */
export function onHalfClosed(connection: Connection): void {
  const { answers, socket, requestAt } = connection;
  if (answers.size === 0) return;
  const early = Date.now() - requestAt <= EARLY_MS;
  for (const res of answers) {
    // A body that is cut off, and an answer that has begun: who leaves in its middle leaves.
    if (!res.req.complete || res.headersSent || (!early && res.req.httpVersionMinor === 0)) {
      socket.destroy();
      return;
    }
  }
  if (!early) probe(connection);
  wait(connection, early ? -1 : 0);
}

function wait(connection: Connection, probes: number): void {
  const ms = probes === -1 ? FIRST_PROBE_MS : (PROBE_MS[probes] ?? LATER_PROBE_MS);
  const timer = setTimeout(() => {
    if (connection.socket.destroyed || connection.answers.size === 0) return;
    probe(connection);
    wait(connection, probes + 1);
  }, ms).unref();
  connection.socket.once('close', () => clearTimeout(timer));
}

function probe({ answers }: Connection): void {
  const [first] = answers;
  if (first !== undefined && !first.headersSent && first.req.httpVersionMinor > 0) first.writeContinue();
}
