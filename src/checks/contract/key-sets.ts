// Key sets (RFC 7517) that tokens are verified with: fetched through the egress dialer, kept, bounded.
import type { JSONWebKeySet } from 'jose';

/** Where checks get key sets from. */
export interface KeySets {
  /**
   * The set at a URL, at most `maxAgeMs` old.
   * @param fresh asks again when the one kept is older than 30 seconds: keys rotate
   * @throws CheckFailure when it cannot be had
   */
  get(url: string, maxAgeMs: number, fresh?: boolean): Promise<JSONWebKeySet>;
}
