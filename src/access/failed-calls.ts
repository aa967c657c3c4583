// Calls without a valid key or token, by client address: beyond a rate they are answered from the headers alone.
import type { Call } from '../call/call.ts';
import { AddressRates } from '../lib/address-rates.ts';
import { fail, type GatewayError } from '../lib/errors.ts';

/** Sign-ins with a wrong key that one address may try in a second; twenty may come at once. */
const SIGN_INS_PER_SECOND = 2;
/** Between two lines of the process log. */
const TOLD_EVERY_MS = 60_000;

export interface FailedCallsOptions {
  /** Of one address. */
  readonly perSecond: number;
  /** The client's address; proxies in front are seen through as far as they are trusted. */
  readonly addressOf: (call: Call) => string;
  /** Whether somebody types a key into the console: such guesses are slowed more. */
  readonly isSignIn: (call: Call) => boolean;
  /** Told at most once a minute. @param count of calls that were refused since */
  readonly onFlood: (address: string, count: number) => void;
}

/** Calls with a valid key never come here, from whichever address. */
export class FailedCalls {
  readonly #options: FailedCallsOptions;
  readonly #rates: AddressRates;
  readonly #signIns = new AddressRates(SIGN_INS_PER_SECOND);
  #count = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(options: FailedCallsOptions) {
    this.#options = options;
    this.#rates = new AddressRates(options.perSecond);
  }

  /** Counts a call whose key is missing or not valid. @returns why it is refused at once; undefined: it is refused as others are */
  refuse(call: Call): GatewayError | undefined {
    const address = this.#options.addressOf(call);
    if (this.#options.isSignIn(call)) return this.#refuseSignIn(address);
    const retryAfterMs = this.#rates.take(address);
    if (retryAfterMs === 0) return undefined;
    this.#count++;
    const now = performance.now();
    if (now - this.#toldAt > TOLD_EVERY_MS) {
      this.#options.onFlood(address, this.#count);
      this.#toldAt = now;
      this.#count = 0;
    }
    return fail(
      'rate_limited',
      `more than ${this.#options.perSecond} calls a second without a valid API key come from this address; calls with a valid key are served`,
      { retryAfterMs: Math.max(1000, retryAfterMs) },
    );
  }

  #refuseSignIn(address: string): GatewayError | undefined {
    const retryAfterMs = this.#signIns.take(address);
    if (retryAfterMs === 0) return undefined;
    return fail('rate_limited', 'too many wrong keys come from this address: try again later', {
      retryAfterMs: Math.max(1000, retryAfterMs),
    });
  }
}
