// Asks an authorisation server about a token (RFC 7662). The answer may be cached, never past the token's end.
import { createHash } from 'node:crypto';
import { LruCache } from '../../lib/lru-cache.ts';
import { type CheckDeps, CheckFailure, type Clock, type Introspection } from '../contract/check.ts';
import { isObject } from '../contract/parameters.ts';
import type { JsonObject } from '../view/traffic.ts';
import { postText } from './post-json.ts';

const MOST_KEPT = 5000;

interface Entry {
  readonly claims: JsonObject | undefined;
  readonly until: number;
}

/** Makes the cache. */
export function createIntrospection(clock: Clock): Introspection {
  const kept = new LruCache<Entry>(MOST_KEPT);
  return {
    async claims(asking, deps) {
      const { cacheMs } = asking;
      // A whole digest: with a short one, two tokens could be taken for each other.
      const key = createHash('sha256')
        .update(JSON.stringify([asking.endpoint, asking.contentType, asking.headers, asking.token]))
        .digest('base64');
      const entry = kept.get(key);
      if (cacheMs > 0 && entry !== undefined && entry.until > clock.now()) return entry.claims;
      const claims = await ask(asking, deps);
      const end = typeof claims?.exp === 'number' ? claims.exp * 1000 : Number.POSITIVE_INFINITY;
      if (cacheMs > 0) kept.set(key, { claims, until: Math.min(clock.now() + cacheMs, end) });
      else kept.delete(key);
      return claims;
    },
  };
}

async function ask(
  { endpoint, contentType, headers, token }: Parameters<Introspection['claims']>[0],
  deps: CheckDeps,
): Promise<JsonObject | undefined> {
  const json = contentType === 'application/json';
  const text = json ? JSON.stringify({ token }) : new URLSearchParams({ token }).toString();
  const posting = { url: endpoint, param: 'introspectEndpoint', headers, contentType, text };
  const answer = await postText(deps, posting);
  if (answer.status !== 200) {
    throw new CheckFailure(
      'CallFailedError',
      `the introspection endpoint answered with status ${answer.status}`,
    );
  }
  if (!isObject(answer.json) || typeof answer.json.active !== 'boolean') {
    throw new CheckFailure(
      'InvalidResponseError',
      'the introspection endpoint did not say whether the token is active',
    );
  }
  return answer.json.active ? answer.json : undefined;
}
