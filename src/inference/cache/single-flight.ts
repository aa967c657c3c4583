// Single flight for identical calls: the first makes the answer, later ones wait for it. An error goes only to the
// call that got it; then one of the waiting calls leads, after a further failure two, then four. So a provider that
// is down sees few calls, and two hundred waiting calls do not fail one after the other.
import type { AbortLike } from '../../lib/abort.ts';

/** What a call that entered must do. */
export type FlightEntry<T> =
  /** Make the answer, and say how it went. */
  | { readonly role: 'lead'; readonly lead: Lead<T> }
  /** Another call of this process made it. */
  | { readonly role: 'follow'; readonly value: T }
  /** Waited for too long, or for something that cannot be shared: go on as if alone. */
  | { readonly role: 'alone' };

/** The duty to make an answer. The first word counts; later ones change nothing. */
export interface Lead<T> {
  /** Whether a refresh came after the flight began: what it brings is old. */
  readonly superseded: boolean;
  /** Everybody waiting gets this. */
  bring(value: T): void;
  /** It was not to be had: the next may try. */
  fail(): void;
  /** It is there and cannot be shared: all go on by themselves. */
  scatter(): void;
}

interface Waiter<T> {
  readonly settle: (turn: FlightEntry<T>) => void;
}

interface Flight<T> {
  readonly key: string;
  readonly waiters: Set<Waiter<T>>;
  /** When somebody last began to lead. */
  ledAt: number;
  leaders: number;
  failures: number;
  superseded: boolean;
}

/** The flights of one process. */
export class SingleFlight<T> {
  readonly #open = new Map<string, Flight<T>>();
  readonly #waitMs: number;

  /** @param waitMs longest wait for another's answer */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** Flights under way. */
  get size(): number {
    return this.#open.size;
  }

  /** Calls that wait. */
  get waiting(): number {
    let sum = 0;
    for (const { waiters } of this.#open.values()) sum += waiters.size;
    return sum;
  }

  /**
   * Leads, or waits until another has led: for `waitMs` at the most, and no longer than the caller stays.
   * @throws the signal's reason when it aborts.
   */
  enter(
    key: string,
    signal: AbortLike,
    waitMs: number = this.#waitMs,
  ): FlightEntry<T> | Promise<FlightEntry<T>> {
    if (signal.aborted) throw signal.reason;
    const open = this.#open.get(key);
    // A leader that takes this long is not worth joining; newcomers make a flight of their own.
    if (open !== undefined && performance.now() - open.ledAt < this.#waitMs)
      return this.#wait(open, signal, waitMs);
    const flight: Flight<T> = {
      key,
      waiters: new Set(),
      ledAt: 0,
      leaders: 0,
      failures: 0,
      superseded: false,
    };
    this.#open.set(key, flight);
    return { role: 'lead', lead: this.#lead(flight, signal) };
  }

  /** What flies now is old: newcomers do not join it, and its leader is told. */
  supersede(key: string): void {
    const flight = this.#open.get(key);
    if (flight === undefined) return;
    flight.superseded = true;
    this.#open.delete(key);
  }

  #wait(flight: Flight<T>, signal: AbortLike, waitMs: number): Promise<FlightEntry<T>> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', left);
        flight.waiters.delete(waiter);
      };
      const waiter: Waiter<T> = {
        settle: (turn) => {
          end();
          resolve(turn.role === 'lead' ? { role: 'lead', lead: this.#lead(flight, signal) } : turn);
        },
      };
      const left = (): void => {
        end();
        reject(signal.reason);
      };
      const timer = setTimeout(() => waiter.settle({ role: 'alone' }), waitMs);
      flight.waiters.add(waiter);
      signal.addEventListener('abort', left);
    });
  }

  #lead(flight: Flight<T>, signal: AbortLike): Lead<T> {
    flight.leaders++;
    flight.ledAt = performance.now();
    let over = false;
    const end = (then: () => void) => (): void => {
      if (over) return;
      over = true;
      signal.removeEventListener('abort', fail);
      flight.leaders--;
      then();
    };
    const fail = end(() => this.#handOn(flight));
    signal.addEventListener('abort', fail);
    return {
      get superseded() {
        return flight.superseded;
      },
      bring: (value) => end(() => this.#release(flight, { role: 'follow', value }))(),
      fail,
      scatter: end(() => this.#release(flight, { role: 'alone' })),
    };
  }

  #release(flight: Flight<T>, turn: FlightEntry<T>): void {
    this.#close(flight);
    for (const waiter of [...flight.waiters]) waiter.settle(turn);
  }

  #handOn(flight: Flight<T>): void {
    const next = [...flight.waiters].slice(0, 2 ** Math.min(flight.failures++, 16));
    for (const waiter of next) waiter.settle(HAND_ON);
    if (flight.leaders === 0) this.#close(flight);
  }

  #close(flight: Flight<T>): void {
    if (this.#open.get(flight.key) === flight) this.#open.delete(flight.key);
  }
}

/** Says only who is next: the lead is made for the waiter's own signal. */
const HAND_ON = { role: 'lead', lead: undefined as never } as const;
