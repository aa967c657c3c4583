// Exactly once, in short: one embedded process, and three on Redis and MongoDB, killed under load. The long run is
// npm run ledger-proof.
import test, { type ExecutionContext } from 'ava';
import { mongoKind } from '../support/servers/mongo.ts';
import { redisKind } from '../support/servers/redis.ts';
import { reportMissing, startOwnMongo, startOwnRedis } from '../support/servers.ts';
import { holds, type Row, reconcile, table } from './reconcile.ts';
import { type ProofOptions, prove } from './run.ts';

const SHORT = { seconds: 8, killEvery: 1.5, lanes: 8 };

async function proven(t: ExecutionContext, servers: ProofOptions['servers']): Promise<void> {
  t.timeout(600_000);
  const { rows, kills, calls } = await prove({ ...SHORT, servers, say: (line) => t.log(line) });
  t.true(holds(rows), `\n${table(rows)}`);
  t.true(kills >= 1);
  t.true(calls.whole.size > 20, 'there was something to prove');
}

test.serial('one embedded process, killed again and again: each attempt has one place in the books', (t) =>
  proven(t, undefined),
);

if (redisKind() === undefined || mongoKind() === undefined) {
  reportMissing(test, redisKind() === undefined ? 'Redis' : 'MongoDB');
} else {
  test.serial(
    'three processes on Redis and MongoDB, killed by turns, and Redis once: the same',
    async (t) => {
      const [redis, mongo] = await Promise.all([startOwnRedis(), startOwnMongo()]);
      try {
        if (!redis || !mongo) throw new Error('the servers of this machine did not start');
        await proven(t, { redis, mongo });
      } finally {
        await redis?.stop();
        await mongo?.stop();
      }
    },
  );
}

test('the comparison sees what is wrong', (t) => {
  const attempt = {
    id: 'a',
    provider: 'openai',
    host: 'h',
    model: 'm',
    statusCode: 200,
    outcome: 'success' as const,
    startedAt: 1,
    latencyMs: 1,
    usage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 },
    cost: '70',
  };
  const entry = {
    id: 'e',
    traceId: 't',
    organisationId: 'o',
    workspaceId: 'w',
    apiKeyId: 'k',
    createdAt: 1,
    operation: 'x',
    protocol: 'rest',
    method: 'POST',
    path: '/',
    provider: 'openai',
    model: 'm',
    responseModel: 'm',
    statusCode: 200,
    outcome: 'success' as const,
    streamed: false,
    latencyMs: 1,
    metadata: {},
    attempts: [attempt],
    cost: '70',
  };
  const seen = { id: 'a', status: 200, promptTokens: 3, completionTokens: 4, sent: true };
  const sides = {
    seen: new Map([['a', seen]]),
    twice: [],
    nameless: 0,
    entries: [entry],
    whole: new Set(['t']),
    budgets: [{ keyId: 'k', type: 'cost' as const, spent: 70n, held: 0n }],
    holds: 0,
    left: 0,
  };
  const wrong = (rows: readonly Row[]): string[] =>
    rows.filter((row) => !holds([row])).map(({ name }) => name.trim());
  t.deepEqual(wrong(reconcile(sides)), []);
  t.deepEqual(wrong(reconcile({ ...sides, entries: [] })), [
    'with no place in the books',
    'without an entry',
    'budget of cost: spent, against the sum of its entries',
  ]);
  const twice = { ...entry, id: 'e2', traceId: 't2' };
  t.deepEqual(wrong(reconcile({ ...sides, entries: [entry, twice] })), [
    'with more than one',
    'budget of cost: spent, against the sum of its entries',
  ]);
  const usage = { ...attempt.usage, completionTokens: 5 };
  const untrue = { ...entry, attempts: [{ ...attempt, usage }] };
  t.deepEqual(wrong(reconcile({ ...sides, entries: [untrue] })), [
    'with neither',
    'without the provider’s tokens',
  ]);
  const killed = { ...attempt, outcome: 'interrupted' as const, usageEstimated: true as const };
  const estimated = { ...sides, entries: [{ ...entry, attempts: [killed] }], whole: new Set<string>() };
  t.deepEqual(wrong(reconcile(estimated)), []);
  t.deepEqual(wrong(reconcile({ ...estimated, whole: new Set(['t']) })), ['without the provider’s tokens']);
  t.deepEqual(wrong(reconcile({ ...sides, holds: 1, left: 2, twice: ['a'] })), [
    'seen twice, or without an id',
    'holds outstanding',
    'entries and calls left on the way',
  ]);
});
