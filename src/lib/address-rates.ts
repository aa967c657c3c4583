// How often something may happen from one client address: a token bucket for each, the least recently seen ones forgotten.
import { parseAddress } from './egress/address-rules.ts';
import { LruCache } from './lru-cache.ts';

/** Addresses that are remembered: about 2 MB. */
const MOST_ADDRESSES = 10_000;
/** Seconds of the rate that may come at once. */
const BURST_SECONDS = 10;

interface Bucket {
  tokens: number;
  at: number;
}

export class AddressRates {
  readonly #perSecond: number;
  readonly #now: () => number;
  readonly #buckets = new LruCache<Bucket>(MOST_ADDRESSES);

  /** @param now in milliseconds; for tests */
  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#now = now;
  }

  /**
   * Counts one. @param share of the rate that it uses, 1 by default
   * @returns 0, or when the rate is exceeded the milliseconds until the next one; then nothing is counted
   */
  take(address: string, share = 1): number {
    const key = networkOf(address);
    const now = this.#now();
    const most = this.#perSecond * BURST_SECONDS;
    const bucket = this.#buckets.get(key) ?? { tokens: most, at: now };
    bucket.tokens = Math.min(most, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond);
    bucket.at = now;
    if (bucket.tokens < share) return Math.ceil(((share - bucket.tokens) / this.#perSecond) * 1000);
    bucket.tokens -= share;
    this.#buckets.set(key, bucket);
    return 0;
  }
}

/** IPv4 as it is, also in its IPv6 form; of IPv6 the /64 that one customer has. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const bytes = parseAddress(address);
  if (bytes === undefined || bytes.length === 4) return bytes?.join('.') ?? address;
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  return isMapped ? bytes.slice(12).join('.') : `${bytes.slice(0, 8).join('.')}/64`;
}

/** Whether an address is the machine's own. */
export function isLoopback(address: string): boolean {
  const network = networkOf(address);
  return network.startsWith('127.') || address === '::1';
}
