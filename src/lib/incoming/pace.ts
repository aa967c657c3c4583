// Bounds how slowly request bodies may come: one watch over all that are being read.
import { fail, type GatewayError } from '../errors.ts';

/** A body brings at least so many bytes a second, on average over each span. */
const BYTES_PER_SECOND = 256;
const SPAN_MS = 30_000;
/** A body that is kept whole comes within this time. */
const WHOLE_MS = 600_000;

/** One body under watch. The reader counts what comes. */
export interface Watched {
  /** Bytes since the last span ended. */
  bytes: number;
  /** Reading is paused because the consumer takes no more: the client is not at fault. */
  paused: boolean;
  readonly until: number;
  spanEnds: number;
  readonly onSlow: (error: GatewayError) => void;
}

export class Pace {
  readonly #spanMs: number;
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  /** @param spanMs over which the pace is measured, in milliseconds */
  constructor(spanMs: number = SPAN_MS) {
    this.#spanMs = spanMs;
  }

  /** @param whole whether the body is kept whole, which bounds its time */
  watch(whole: boolean, onSlow: (error: GatewayError) => void): Watched {
    const now = Date.now();
    const watched: Watched = {
      bytes: 0,
      paused: false,
      onSlow,
      until: whole ? now + Math.max(WHOLE_MS, this.#spanMs) : Number.POSITIVE_INFINITY,
      spanEnds: now + this.#spanMs,
    };
    this.#watched.add(watched);
    this.#timer ??= setInterval(() => this.#look(), Math.max(50, this.#spanMs / 6)).unref();
    return watched;
  }

  /** The client is not waited for. */
  pause(watched: Watched): void {
    watched.paused = true;
  }

  /** It is waited for again; the pace is measured from now on. */
  resume(watched: Watched): void {
    if (!watched.paused) return;
    watched.paused = false;
    watched.bytes = 0;
    watched.spanEnds = Date.now() + this.#spanMs;
  }

  done(watched: Watched): void {
    this.#watched.delete(watched);
  }

  #look(): void {
    const now = Date.now();
    const least = (BYTES_PER_SECOND * this.#spanMs) / 1000;
    for (const watched of this.#watched) {
      const late = now >= watched.until;
      if (!late && now < watched.spanEnds) continue;
      if (late || (!watched.paused && watched.bytes < least)) {
        this.#watched.delete(watched);
        watched.onSlow(fail('request_timeout', 'the body did not arrive in time'));
      }
      watched.bytes = 0;
      watched.spanEnds = now + this.#spanMs;
    }
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
