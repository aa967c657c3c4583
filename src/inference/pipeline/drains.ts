// Streams that go on without their clients: how many, for how long, and their end when the gateway stops.
import type { Call } from '../../call/call.ts';
import { Aborter, type AbortLike, type AbortListener } from '../../lib/abort.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import type { BoundTarget } from '../plan/bind.ts';

/** Bounds of drains. */
export interface DrainBounds {
  /** Streams at once; further ones are cancelled. */
  readonly most: number;
  /** Time for one stream after its client left, in milliseconds. */
  readonly ms: number;
  /** Bytes of one stream after its client left. */
  readonly bytes: number;
}

export const DRAIN_BOUNDS: DrainBounds = { most: 1000, ms: 60_000, bytes: 16 * 1024 * 1024 };

/** All drains of a process. */
export class Drains {
  readonly bounds: DrainBounds;
  readonly #running = new Set<HeldSignal>();
  #stopped = false;

  constructor(bounds: DrainBounds = DRAIN_BOUNDS) {
    this.bounds = bounds;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Whether one more may begin. */
  mayBegin(): boolean {
    return !this.#stopped && this.#running.size < this.bounds.most;
  }

  begin(signal: HeldSignal): void {
    this.#running.add(signal);
  }

  end(signal: HeldSignal): void {
    this.#running.delete(signal);
  }

  /** Ends all of them, and lets none begin. */
  stop(): void {
    this.#stopped = true;
    for (const signal of this.#running) signal.giveUp();
  }
}

/** Whether a stream of the target goes on when its client leaves: as its config says, or else its provider. */
export function drainsWhenCut({ plan, target }: BoundTarget): boolean {
  return (plan.onClientCut ?? target.provider.onClientCut) === 'drain';
}

/**
 * A signal that does not pass on that the client has left: then it says so to `onCut`, and ends by itself within the
 * bounds. Everything else that ends the attempt is passed on.
 */
export class HeldSignal extends Aborter {
  readonly #drains: Drains;
  readonly #call: Call;
  readonly #signal: AbortLike;
  readonly #follow: AbortListener = () => this.#ended();
  #timer: NodeJS.Timeout | undefined;
  #bytes = 0;
  /** The client has left, and the stream goes on. */
  cut = false;
  onCut: () => void = () => {};
  /** Whether there is something to read to its end already. */
  armed: boolean;

  constructor(drains: Drains, call: Call, signal: AbortLike, armed = true) {
    super();
    this.armed = armed;
    this.#drains = drains;
    this.#call = call;
    this.#signal = signal;
    if (signal.aborted) this.abort(reasonOf(signal));
    else signal.addEventListener('abort', this.#follow);
  }

  /** Whether the client of the call has left. */
  get left(): boolean {
    return isLeft(this.#call.signal);
  }

  /** Bytes of the answer came. */
  read(bytes: number): void {
    if (!this.cut) return;
    this.#bytes += bytes;
    if (this.#bytes > this.#drains.bounds.bytes) this.giveUp();
  }

  /** The stream has ended. */
  over(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#follow);
    if (this.cut) this.#drains.end(this);
  }

  giveUp(): void {
    this.abort(clientLeft());
  }

  #ended(): void {
    if (!this.armed || !this.left || !this.#drains.mayBegin()) {
      this.abort(reasonOf(this.#signal));
      return;
    }
    this.cut = true;
    const { ms } = this.#drains.bounds;
    this.#drains.begin(this);
    this.#timer = setTimeout(() => this.giveUp(), ms);
    this.#call.waitFor(ms);
    this.onCut();
  }
}

export function clientLeft(): GatewayError {
  return fail('client_closed', 'the client has left');
}

function isLeft({ aborted, reason }: AbortLike): boolean {
  return aborted && reason instanceof GatewayError && reason.reason === 'client_closed';
}

function reasonOf({ reason }: AbortLike): Error {
  return reason instanceof Error ? reason : clientLeft();
}
