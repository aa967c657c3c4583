// Key sets by URL: fetched by the dialer in a single flight, kept for as long as each caller allows.
import type { JSONWebKeySet } from 'jose';
import { Aborter } from '../../lib/abort.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { GatewayError } from '../../lib/errors.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import { CheckFailure, type Clock } from '../contract/check.ts';
import type { KeySets } from '../contract/key-sets.ts';
import { isObject } from '../contract/parameters.ts';
import { deadline } from './deadline.ts';

const MOST_BYTES = 262_144;
const MOST_KEPT = 500;
const FETCH_MS = 5000;
/** A token with an unknown key id asks for the set again, but not more often than this. */
const FRESH_EVERY_MS = 30_000;

interface Entry {
  readonly set: JSONWebKeySet;
  readonly fetchedAt: number;
}

/** Makes the cache. */
export function createKeySets(dialer: Dialer, clock: Clock): KeySets {
  const kept = new LruCache<Entry>(MOST_KEPT);
  const flights = new Map<string, Promise<JSONWebKeySet>>();

  function fetch(url: string): Promise<JSONWebKeySet> {
    const known = flights.get(url);
    if (known !== undefined) return known;
    const flight = read(dialer, url)
      .then((set) => {
        kept.set(url, { set, fetchedAt: clock.now() });
        return set;
      })
      .finally(() => flights.delete(url));
    flights.set(url, flight);
    return flight;
  }

  return {
    get(url, maxAgeMs, fresh = false) {
      const entry = kept.get(url);
      if (entry === undefined) return fetch(url);
      const age = clock.now() - entry.fetchedAt;
      return age > (fresh ? Math.min(FRESH_EVERY_MS, maxAgeMs) : maxAgeMs)
        ? fetch(url)
        : Promise.resolve(entry.set);
    },
  };
}

async function read(dialer: Dialer, url: string): Promise<JSONWebKeySet> {
  // The first caller may abort: the others still wait.
  const { signal, release } = deadline(
    new Aborter(),
    FETCH_MS,
    () => new CheckFailure('TimeoutError', `the key set did not come within ${FETCH_MS} ms`),
  );
  try {
    dialer.check(url, 'jwksUri');
    const { origin, pathname, search } = new URL(url);
    const headers = ['accept', 'application/json'];
    const request = { origin, path: pathname + search, method: 'GET', headers, body: undefined, signal };
    const { status, body } = await dialer.whole(request, MOST_BYTES);
    if (status !== 200)
      throw new CheckFailure('CallFailedError', `the key set answered with status ${status}`);
    return parse(body);
  } catch (error) {
    if (error instanceof CheckFailure) throw error;
    const text = error instanceof GatewayError ? error.message : 'the key set could not be fetched';
    throw new CheckFailure('CallFailedError', text);
  } finally {
    release();
  }
}

function parse(body: Uint8Array): JSONWebKeySet {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(body));
  } catch {
    json = undefined;
  }
  if (isKeySet(json)) return json;
  throw new CheckFailure('InvalidResponseError', 'the answer is no key set');
}

/** Whether JSON is a key set (RFC 7517, part 5). */
export function isKeySet(json: unknown): json is JSONWebKeySet {
  return isObject(json) && Array.isArray(json.keys) && json.keys.every(isObject);
}
