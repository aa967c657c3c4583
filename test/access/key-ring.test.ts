// The ring under whatever order changes arrive in: nothing old ever comes back, and two secrets are one key.
import test from 'ava';
import fc from 'fast-check';
import { authenticate } from '../../src/access/authenticate.ts';
import type { ApiKeyBody } from '../../src/access/identity-collections.ts';
import { createKeyHasher } from '../../src/access/key-hash.ts';
import { keyRecord } from '../../src/access/key-record.ts';
import { KeyRing } from '../../src/access/key-ring.ts';
import { makeKey, secretParts, withSecret } from '../../src/access/keys.ts';
import type { Principal } from '../../src/call/principal.ts';
import type { GatewayError } from '../../src/lib/errors.ts';
import { GatewayHeaders, HeaderNames } from '../../src/lib/gateway-headers.ts';
import type { Document } from '../../src/store/documents.ts';

const hasher = createKeyHasher(new Uint8Array(32).fill(7));
const names = new HeaderNames(['x-gateway-']);
const headers = (key: string) => new GatewayHeaders(names, { 'x-gateway-api-key': key });

const DETAILS = {
  name: 'k',
  kind: 'workspace-service',
  organisationId: 'o',
  workspaceId: 'w',
  scopes: ['logs.list'],
} as const;

function stored(secret: string, body: Partial<ApiKeyBody> = {}, version = 1, id = 'k'): Document<ApiKeyBody> {
  const { document } = makeKey(hasher, { ...DETAILS, secret }, 0);
  return {
    ...document,
    id,
    organisationId: 'o',
    version,
    status: 'active',
    updatedAt: 0,
    schemaVersion: 1,
    body: { ...document.body, ...body },
  };
}

const KEYS = ['one', 'two', 'three'];
const secretOf = (key: string, version: number): string => `slk_secret_of_${key}_${version}_0123456789`;

/** What an instance hears of, in any order and more than once; versions from `end` on are archived. */
const heard = fc.array(
  fc.record({ key: fc.constantFrom(...KEYS), version: fc.integer({ min: 1, max: 12 }) }),
  { maxLength: 60 },
);

test('whatever arrives in whatever order, the newest version counts and nothing older comes back', (t) => {
  fc.assert(
    fc.property(heard, fc.constantFrom(4, 8, 12, 99), (changes, end) => {
      const ring = new KeyRing(hasher);
      const newest = new Map<string, number>();
      for (const { key, version } of changes) {
        newest.set(key, Math.max(version, newest.get(key) ?? 0));
        if (version >= end)
          ring.replica.apply({ ...stored(secretOf(key, version), {}, version, key), status: 'archived' });
        else {
          const previous = { ...secretParts(hasher, secretOf(key, version - 1)), until: 1000 };
          ring.replica.apply(stored(secretOf(key, version), { previous }, version, key));
        }
        // After every single event, not only in the end.
        for (const one of KEYS) {
          const now = newest.get(one) ?? 0;
          for (let secret = 0; secret <= 12; secret++) {
            const found = ring.find(secretOf(one, secret));
            const works = now > 0 && now < end && (secret === now || secret === now - 1);
            t.is(found?.principal.keyId, works ? one : undefined);
            if (works) t.is(found?.expiresAt, secret === now ? undefined : 1000);
          }
        }
      }
      t.is(ring.size, [...newest.values()].filter((version) => version < end).length);
    }),
    { numRuns: 200 },
  );
});

const OLD = 'slk_old_secret_0123456789abcdef';
const NEW = 'slk_new_secret_0123456789abcdef';

function who(ring: KeyRing, key: string, now: number): string {
  try {
    return (authenticate(headers(key), { keys: ring }, now).principal as Principal).keyId;
  } catch (error) {
    return String((error as GatewayError).message);
  }
}

test('both secrets of a rotated key are the key, the old one until its time', (t) => {
  const ring = new KeyRing(hasher);
  const before = stored(OLD);
  ring.replica.apply(before);
  const body = withSecret(before.body, secretParts(hasher, NEW), 5000);
  ring.replica.apply({ ...before, version: 2, body });
  t.is(who(ring, OLD, 4999), 'k');
  t.is(who(ring, NEW, 4999), 'k');
  t.is(who(ring, OLD, 5000), 'the API key has expired');
  t.is(who(ring, NEW, 5000), 'k');
  t.is(ring.find(OLD)?.principal, ring.find(NEW)?.principal, 'one key: limits and usage are the same');
  t.not(ring.find(OLD), undefined, 'it is still ours, and never shipped to a provider');

  // The next rotation drops the first secret for good.
  const again = withSecret(body, secretParts(hasher, 'slk_third_secret_0123456789abcde'), 9000);
  ring.replica.apply({ ...before, version: 3, body: again });
  t.is(who(ring, OLD, 6000), 'the API key is not known');
  t.is(who(ring, NEW, 6000), 'k');
  ring.replica.apply({ ...before, version: 4, status: 'archived' });
  t.is(who(ring, NEW, 6000), 'the API key is not known');
});

test('an expiring key takes its old secret with it', (t) => {
  const ring = new KeyRing(hasher);
  const before = stored(OLD, { expiresAt: 3000 });
  ring.replica.apply({ ...before, body: withSecret(before.body, secretParts(hasher, NEW), 5000) });
  t.is(who(ring, OLD, 2999), 'k');
  t.is(who(ring, OLD, 3000), 'the API key has expired');
  t.is(who(ring, NEW, 3000), 'the API key has expired');
});

test('a key brings its settings, and no secret part of it is in what is kept of it', (t) => {
  const ring = new KeyRing(hasher);
  const rateLimits = [{ type: 'requests', unit: 'rps', value: 1 }];
  const document = stored(OLD, { rateLimits, defaults: { config_id: 'pc' } });
  ring.replica.apply(document);
  t.like(ring.settings('o', 'k'), { rateLimits, defaults: { config_id: 'pc' } });
  t.is(ring.settings('o', 'other'), undefined);
  t.false(JSON.stringify(keyRecord(document)).includes(OLD));
  const { mask } = secretParts(hasher, OLD);
  t.is(mask, 'sl*****def');
  t.is(secretParts(hasher, 'short').mask, '*****');
});
