// Calls in flight as a model of its own: processes that begin, end, renew and die, on both adapters. Never more than
// the limit at once by the leases' own account, never fewer than there is room for, and nothing is lost to a crash.
import test from 'ava';
import fc from 'fast-check';
import type { SharedState } from '../../src/store/shared-state.ts';
import { redisServer, reportMissing } from '../support/servers.ts';
import { clearRedis, freshOrg, openEmbedded, openRedis, START_MS } from './shared-stores.ts';

const RUNS = Number(process.env.SLUICE_PROPERTY_RUNS ?? 100);
const LEASE_MS = 1000;
const PROCESSES = ['one', 'two', 'three'] as const;
type Owner = (typeof PROCESSES)[number];

const clock = { ms: START_MS };
const server = await redisServer();
const embedded = await openEmbedded(clock);
const redis = server && (await openRedis(server.url, clock));
if (!server) reportMissing(test, 'Redis');
test.after.always(async () => {
  await embedded.close();
  await redis?.close();
  if (server) await clearRedis(server.url);
});

type Step =
  | { readonly kind: 'begin'; readonly owner: Owner; readonly key: string }
  | { readonly kind: 'end'; readonly pick: number }
  | { readonly kind: 'renew'; readonly owner: Owner }
  | { readonly kind: 'die'; readonly owner: Owner }
  | { readonly kind: 'sweep'; readonly owner: Owner }
  | { readonly kind: 'pass'; readonly ms: number };

const owner = fc.constantFrom(...PROCESSES);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('begin' as const), owner, key: fc.constantFrom('a', 'b') }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('end' as const), pick: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('renew' as const), owner }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('die' as const), owner }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sweep' as const), owner }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 900 }) }),
  },
);

interface Call {
  readonly id: string;
  readonly key: string;
  readonly owner: Owner;
  /** It holds its place until then, unless it is renewed or ends. */
  until: number;
  running: boolean;
}

/** Runs the steps on a store and beside them the plain list of calls. */
async function check(state: SharedState, limit: number, steps: readonly Step[]): Promise<void> {
  clock.ms = START_MS;
  const org = freshOrg();
  let calls: Call[] = [];
  let number = 0;
  const live = (key: string): Call[] => calls.filter((call) => call.key === key && call.until > clock.ms);
  for (const one of steps) {
    switch (one.kind) {
      case 'begin': {
        const id = `call-${number++}`;
        const room = live(one.key).length < limit;
        const { outcome, limits } = await state.admit(org, {
          limits: [{ kind: 'slots', key: one.key, limit }],
          hold: { id, owner: one.owner, leaseMs: LEASE_MS },
        });
        if ((outcome === 'admitted') !== room) throw new Error(`${id} was ${outcome}, and room is ${room}`);
        if (room)
          calls.push({ id, key: one.key, owner: one.owner, until: clock.ms + LEASE_MS, running: true });
        const left = Number(limits[0]?.remaining);
        const most = Math.max(0, limit - live(one.key).length);
        if (left !== most) throw new Error(`${left} are said to be free of ${most}`);
        break;
      }
      case 'end': {
        const running = calls.filter((call) => call.running);
        const call = running[one.pick % Math.max(1, running.length)];
        if (call === undefined) break;
        await state.settle(org, { id: call.id });
        calls = calls.filter((other) => other !== call);
        break;
      }
      case 'renew': {
        const own = calls.filter((call) => call.running && call.owner === one.owner);
        const outcomes = await state.renew(org, {
          ids: own.map(({ id }) => id),
          owner: one.owner,
          leaseMs: LEASE_MS,
        });
        own.forEach((call, i) => {
          if (outcomes[i] === 'renewed') call.until = clock.ms + LEASE_MS;
        });
        break;
      }
      case 'die':
        for (const call of calls) if (call.owner === one.owner) call.running = false;
        break;
      case 'sweep':
        for (const { id } of await state.sweep(org, {
          owner: `sweeper-${one.owner}`,
          leaseMs: LEASE_MS,
          max: 100,
        })) {
          if (calls.some((call) => call.id === id && call.until > clock.ms)) throw new Error(`${id} lives`);
          await state.settle(org, { id });
          calls = calls.filter((call) => call.id !== id);
        }
        break;
      case 'pass':
        clock.ms += one.ms;
    }
  }
  // All processes die: a lease later all places are free again, and no hold is left behind.
  clock.ms += LEASE_MS;
  for (const { id } of await state.sweep(org, { owner: 's', leaseMs: 1, max: 1000 }))
    await state.settle(org, { id });
  clock.ms += LEASE_MS;
  const left = await state.sweep(org, { owner: 's', leaseMs: 1, max: 1000 });
  if (left.length > 0) throw new Error(`${left.length} holds are left`);
  for (const key of ['a', 'b']) {
    for (let i = 0; i <= limit; i++) {
      const { outcome } = await state.admit(org, {
        limits: [{ kind: 'slots', key, limit }],
        hold: { id: `last-${key}-${i}`, owner: 'last', leaseMs: LEASE_MS },
      });
      if ((outcome === 'admitted') !== i < limit) throw new Error(`${outcome} as number ${i} of ${limit}`);
    }
  }
}

for (const [name, state] of [
  ['embedded', embedded],
  ['redis', redis],
] as const) {
  if (state === undefined) continue;
  test.serial(`${name}: calls in flight, whatever begins, ends, lives on and dies`, async (t) => {
    t.timeout(240_000 + RUNS * 500);
    const steps = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });
    await t.notThrowsAsync(
      fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: 4 }), steps, (limit, list) => check(state, limit, list)),
        { numRuns: RUNS },
      ),
    );
  });
}
