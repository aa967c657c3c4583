// When a session ends, by the clock: 8 hours without a call, 7 days in all.
import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { Directory } from '../../../src/access/directory.ts';
import type { ApiKeyBody } from '../../../src/access/identity-collections.ts';
import { keyHasherOf } from '../../../src/access/key-hash.ts';
import { KeyRing } from '../../../src/access/key-ring.ts';
import type { SessionBody } from '../../../src/access/sessions/session-collection.ts';
import { IDLE_MS, LONGEST_MS, SessionRing } from '../../../src/access/sessions/session-ring.ts';
import { GatewayHeaders, HeaderNames } from '../../../src/lib/gateway-headers.ts';
import type { Document, WriteOperation } from '../../../src/store/documents.ts';

const names = new HeaderNames(['x-gateway-']);
const HOUR = 3_600_000;
/** What the store has instead of the session; undefined: the session, with a token. */
const stored: { current: SessionBody | undefined } = { current: undefined };

function opened(secure = false) {
  const clock = { now: 1_000_000 };
  const hasher = keyHasherOf(randomBytes(32));
  const keys = new KeyRing(hasher);
  const key = {
    name: 'k',
    kind: 'workspace-service' as const,
    scopes: ['logs.list'],
    hash: hasher.hash('secret'),
    hint: 'secr:6',
  };
  const put = (body: ApiKeyBody, version: number) => keys.replica.apply(document('key', body, version));
  put(key, 1);
  const noted: WriteOperation[] = [];
  const ring = new SessionRing({
    isProviderEnabled: () => true,
    hasher,
    keys,
    directory: new Directory(),
    documents: {
      get: async <B extends object>() =>
        document(
          'session',
          stored.current ?? { ...body, idToken: 'of the store alone' },
          1,
        ) as unknown as Document<B>,
      commit: async (_, operations) => {
        noted.push(...operations);
        return [];
      },
    },
    site: { secure, origin: undefined },
    now: () => clock.now,
  });
  const { secret, hash } = ring.newSecret();
  const body: SessionBody = {
    hash,
    keyId: 'key',
    keyHash: key.hash,
    seenAt: clock.now,
    expiresAt: clock.now + LONGEST_MS,
    address: '',
    userAgent: '',
  };
  ring.replica.apply(document('session', body, 1));
  const caller = (name = 'sluice_session') =>
    ring.callerOf(new GatewayHeaders(names, { cookie: `${name}=${secret}` }))?.principal;
  return { clock, ring, key, put, noted, body, caller, hasher };
}

function document<B extends object>(id: string, body: B, version: number): Document<B> {
  const common = { organisationId: 'o', status: 'active' as const, schemaVersion: 1 };
  return { id, ...common, version, createdAt: 0, updatedAt: 0, body };
}

test.serial('8 hours without a call end it', (t) => {
  const { clock, caller } = opened();
  t.like(caller(), { keyId: 'key', sessionId: 'session' });
  clock.now += IDLE_MS - 1;
  t.truthy(caller());
  clock.now += 1;
  t.is(caller(), undefined);
});

test.serial('a call is noted every 5 minutes, and 7 days end it whatever is noted', async (t) => {
  const { clock, ring, caller, noted, body } = opened();
  t.truthy(caller());
  t.is(noted.length, 0);
  clock.now += HOUR;
  caller();
  caller();
  await setImmediate();
  t.is(noted.length, 1);
  const [written] = noted;
  t.is(written?.kind === 'update' && (written.change.body as SessionBody).idToken, 'of the store alone');
  for (let version = 2; clock.now < body.expiresAt; version++) {
    ring.replica.apply(document('session', { ...body, seenAt: clock.now }, version));
    t.truthy(caller());
    clock.now += 6 * HOUR;
  }
  t.is(caller(), undefined);
});

test.serial('a token that cannot be opened stops no session', async (t) => {
  const { clock, ring, caller, noted, body } = opened();
  const unreadable = { ...body };
  Object.defineProperty(unreadable, 'idToken', {
    enumerable: true,
    get: () => {
      throw new Error('the key is gone');
    },
  });
  t.true(ring.replica.apply(document('session', unreadable, 2)));
  t.truthy(caller());
  stored.current = unreadable;
  t.teardown(() => {
    stored.current = undefined;
  });
  clock.now += HOUR;
  t.truthy(caller());
  await setImmediate();
  t.is(noted.length, 1);
  const [written] = noted;
  t.false(written?.kind === 'update' && 'idToken' in written.change.body);
});

test.serial('another secret of the key ends it, once the earlier one ends', (t) => {
  const { clock, key, put, caller } = opened();
  const { hash, hint } = key;
  put({ ...key, hash: 'other', hint: 'othe:5', previous: { hash, hint, until: clock.now + HOUR } }, 2);
  t.truthy(caller());
  clock.now += HOUR;
  t.is(caller(), undefined);
});

test.serial('where the gateway is reached over TLS, a cookie without the prefix does not count', (t) => {
  const { caller } = opened(true);
  t.is(caller('sluice_session'), undefined);
  t.truthy(caller('__Host-sluice_session'));
});

test.serial('an organisation key’s session may call models', (t) => {
  const { put, key, caller } = opened();
  t.false(caller()?.scopes.has('completions.write'));
  put({ ...key, kind: 'organisation-service' }, 2);
  t.true(caller()?.scopes.has('completions.write'));
});
