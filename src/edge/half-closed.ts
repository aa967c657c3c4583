// Clients that end their side of the connection and wait for the answer, told from those that leave.
import type { Socket } from 'node:net';

/** What is asked of an answer that is not complete. */
export interface WaitingAnswer {
  readonly headersSent: boolean;
  readonly req: { readonly complete: boolean; readonly httpVersionMinor: number };
}

/** A connection, and its answers that are not complete. */
export interface HalfClosed {
  readonly answers: ReadonlySet<WaitingAnswer>;
  readonly stream: Socket;
}

/** How every answer begins. */
const PREFIX = 'HTTP/1.1 ';
/** What is sent for an answer that takes longer than its prefix lasts: an interim answer (RFC 9110, part 15.2). */
const INTERIM = `${PREFIX}100 Continue\r\n\r\n`;
/** Times between two probes: the first brings the reset, which the next one meets. */
const PROBE_MS: readonly number[] = [5, 20, 100, 500, 2000, 5000, 10_000, 15_000];

/**
 * Call it when the client has sent its end. TCP does not tell a client that left from one that only ended its side, until
 * something is sent: a connection that was closed answers with a reset. What is sent are the first bytes of the answer, one
 * at a time, the first at once: each answer begins with them, so a client that waits sees its answer and nothing else.
 * @param probeMs times between two probes; the last one is for all that follow
 */
export function onHalfClosed({ answers, stream }: HalfClosed, probeMs = PROBE_MS): void {
  const [first] = answers;
  if (first === undefined) return;
  // Bodies that are cut off, and an answer that has begun: a client that ends its side in the middle leaves.
  if (first.headersSent || [...answers].some(({ req }) => !req.complete)) {
    stream.destroy();
    return;
  }
  const started = new StartedAnswer(stream);
  let probes = 0;
  const probe = (): void => {
    const [next] = answers;
    if (stream.destroyed || next === undefined) return;
    if (!next.headersSent) started.sendByte(next);
    timer = setTimeout(probe, probeMs[Math.min(probes++, probeMs.length - 1)]).unref();
  };
  let timer: NodeJS.Timeout | undefined;
  stream.once('close', () => clearTimeout(timer));
  probe();
}

/** Sends the start of an answer before the answer is known, and leaves these bytes out of what is written later. */
class StartedAnswer {
  readonly #write: Socket['write'];
  /** Bytes of the interim answer that were sent. */
  #sent = 0;

  constructor(stream: Socket) {
    this.#write = stream.write.bind(stream);
    stream.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean =>
      (this.#write as (...args: unknown[]) => boolean)(this.#without(chunk), ...rest);
  }

  sendByte({ req }: WaitingAnswer): void {
    // Clients of HTTP/1.0 know no interim answers.
    const text = req.httpVersionMinor === 0 ? PREFIX : INTERIM;
    if (this.#sent === text.length) return;
    this.#write(text[this.#sent++]!, 'latin1');
    if (this.#sent === INTERIM.length) this.#sent = 0;
  }

  #without(chunk: string | Uint8Array): string | Uint8Array {
    const sent = this.#sent;
    this.#sent = 0;
    if (sent === 0) return chunk;
    if (sent <= PREFIX.length) return typeof chunk === 'string' ? chunk.slice(sent) : chunk.subarray(sent);
    this.#write(INTERIM.slice(sent), 'latin1');
    return chunk;
  }
}
