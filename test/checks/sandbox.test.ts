// Hostile patterns, schemas and texts: a typed error within a bound, and an event loop that goes on.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { CheckFailure } from '../../src/checks/contract/check.ts';
import { FairQueue } from '../../src/checks/sandbox/fair-queue.ts';
import { jsonIn } from '../../src/checks/sandbox/json-in-text.ts';
import { createSandbox, type SandboxOptions } from '../../src/checks/sandbox/pool.ts';
import { withSlack } from '../support/slack.ts';
import { answering, bench, runOne, saying } from './try-out.ts';

function sandboxOf(t: ExecutionContext, options: SandboxOptions = {}) {
  const sandbox = createSandbox(options);
  t.teardown(() => sandbox.close());
  return sandbox;
}

/** Longest that the event loop stood still during the work, and how long the work took; in milliseconds. */
async function watched(work: () => Promise<unknown>): Promise<{ stillMs: number; tookMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedAt = performance.now();
  await work();
  const tookMs = performance.now() - startedAt;
  delay.disable();
  return { stillMs: delay.max / 1e6, tookMs };
}

const of = (organisationId: string) => ({ organisationId });

const failure = (name: string) => ({ instanceOf: CheckFailure, name });

test.serial('catastrophic patterns end by force while the event loop goes on', async (t) => {
  const sandbox = sandboxOf(t, { deadlineMs: 150, workers: 2, queueMs: 20_000 });
  await sandbox.match(of('warm'), { source: 'a', flags: '' }, ['a']);
  const hostile: readonly (readonly [string, string])[] = [
    ['^(a+)+$', `${'a'.repeat(60)}!`],
    ['^(a|a)*$', `${'a'.repeat(60)}!`],
    ['(.*)*=(.*)*x', 'y'.repeat(5000)],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(60)],
    ['(x+x+)+y', 'x'.repeat(200)],
    ['\\s+$', `${' '.repeat(400_000)}x`],
  ];
  const { stillMs, tookMs } = await watched(() =>
    Promise.all(
      hostile.map(([source, text]) =>
        t.throwsAsync(
          sandbox.match(of('tenant'), { source, flags: '' }, [text]),
          failure('TimeoutError'),
          source,
        ),
      ),
    ),
  );
  t.log(`six hostile patterns: ${tookMs.toFixed(0)} ms, longest stand-still ${stillMs.toFixed(0)} ms`);
  t.true(stillMs < withSlack(500), `the event loop stood still for ${stillMs} ms`);
  // Three rounds on two workers, each with a new worker to start.
  t.true(tookMs < withSlack(10_000));
  t.deepEqual(await sandbox.match(of('tenant'), { source: 'b', flags: '' }, ['abc']), [
    { at: 1, text: 'b', groups: {}, captures: [] },
  ]);
});

test.serial('hostile schemas and texts end by force too', async (t) => {
  const sandbox = sandboxOf(t, { deadlineMs: 200 });
  await sandbox.find(of('warm'), ['{}'], ['a']);
  const text = JSON.stringify({ a: `${'x'.repeat(40)}!` });
  const swarm = {
    type: 'array',
    items: { anyOf: Array.from({ length: 300 }, (_, i) => ({ pattern: `^(x|x)*${i}$` })) },
  };
  const { stillMs } = await watched(async () => {
    const bad = { properties: { a: { pattern: '^(x+)+$' } } };
    await t.throwsAsync(sandbox.validate(of('tenant'), bad, [text]), failure('TimeoutError'));
    await t.throwsAsync(
      sandbox.validate(of('tenant'), swarm, [JSON.stringify(['x'.repeat(60)])]),
      failure('TimeoutError'),
    );
    await t.throwsAsync(sandbox.find(of('tenant'), ['['.repeat(1_000_000)], ['a']), failure('TimeoutError'));
    const huge = sandbox.replace(
      of('tenant'),
      { source: 'a', flags: 'g' },
      [{ text: 'a'.repeat(900_000), json: false }],
      'x'.repeat(500),
    );
    await t.throwsAsync(huge, { instanceOf: CheckFailure });
  });
  t.true(stillMs < withSlack(500), `the event loop stood still for ${stillMs} ms`);
  const uniqueItems = { type: 'array', uniqueItems: true };
  const items = JSON.stringify(Array.from({ length: 60_000 }, (_, i) => ({ i })));
  await t.throwsAsync(sandbox.validate(of('tenant'), uniqueItems, [items]), failure('TimeoutError'));
});

test.serial('a worker that needs too much memory is ended and another takes its place', async (t) => {
  const sandbox = sandboxOf(t, { deadlineMs: 5000, maxHeapMb: 24 });
  const greedy = { type: 'array', items: { type: 'string' } };
  const text = `[${'1,'.repeat(900_000)}1]`;
  await t.throwsAsync(sandbox.validate(of('tenant'), greedy, [text]), failure('OverloadedError'));
  t.deepEqual(await sandbox.find(of('tenant'), ['{"a":1}'], ['a']), [[{ present: ['a'], value: { a: 1 } }]]);
});

test.serial('what is too long, unreadable or too much is refused', async (t) => {
  const sandbox = sandboxOf(t, { maxCharacters: 10, maxQueued: 2, workers: 1, deadlineMs: 5000 });
  await t.throwsAsync(sandbox.find(of('tenant'), ['123456', '123456'], ['a']), failure('InputTooLongError'));
  await t.throwsAsync(
    sandbox.match(of('tenant'), { source: '(', flags: '' }, ['a']),
    failure('InvalidPatternError'),
  );
  await t.throwsAsync(
    sandbox.validate(of('tenant'), { type: 'thing' }, ['{}']),
    failure('InvalidSchemaError'),
  );
  const remote = { $ref: 'https://example.com/schema.json' };
  await t.throwsAsync(sandbox.validate(of('tenant'), remote, ['{}']), failure('InvalidSchemaError'));
  const many = Array.from({ length: 8 }, () =>
    sandbox.find(of('tenant'), ['{}'], ['a']).catch((error: Error) => error.name),
  );
  t.true((await Promise.all(many)).includes('OverloadedError'));
  await sandbox.close();
  await t.throwsAsync(sandbox.find(of('tenant'), ['{}'], ['a']), failure('OverloadedError'));
});

test.serial('one tenant’s slow patterns do not keep another waiting for all of them', async (t) => {
  const sandbox = sandboxOf(t, { deadlineMs: 120, workers: 1, queueMs: 10_000 });
  await sandbox.match(of('warm'), { source: 'a', flags: '' }, ['a']);
  let ended = 0;
  const slow = Array.from({ length: 12 }, () =>
    sandbox
      .match(of('hostile'), { source: '^(a+)+$', flags: '' }, [`${'a'.repeat(60)}!`])
      .catch((error: Error) => error.name)
      .finally(() => ended++),
  );
  await sandbox.match(of('other'), { source: 'b', flags: '' }, ['abc']);
  // One that was running, and at most one whose turn it was.
  t.true(ended <= 2, `${ended} went first`);
  await sandbox.close();
  t.true((await Promise.all(slow)).every((name) => name === 'TimeoutError' || name === 'OverloadedError'));
});

test.serial('a check with a hostile pattern fails open or closed as it was told', async (t) => {
  const checks = bench(t, { sandbox: { deadlineMs: 100 } });
  const rule = { rule: '^(a+)+$', not: true };
  const traffic = saying(`${'a'.repeat(60)}!`);
  const open = await runOne(checks, traffic, 'regexMatch', rule);
  t.deepEqual([open.verdict, open.error?.name, open.run.decision], [true, 'TimeoutError', 'pass']);
  const closed = await runOne(checks, traffic, 'regexMatch', { ...rule, failOnError: true });
  t.deepEqual([closed.verdict, closed.error?.name, closed.run.decision], [false, 'TimeoutError', 'flag']);
  const long = await runOne(checks, saying('a'.repeat(2_200_000)), 'wordCount', { maxWords: 3 });
  t.deepEqual([long.verdict, long.error?.name], [true, 'InputTooLongError']);
});

test.serial(
  'checks that run on the event loop stay quick over two million characters of anything',
  async (t) => {
    const checks = bench(t);
    const texts = [
      '.',
      'a ',
      '``` \n',
      '```a\n',
      '1. ',
      'https://a) ',
      'https://((((',
      '\u3002',
      '😀',
      '"\\',
    ];
    const rows: readonly (readonly [string, object])[] = [
      ['sentenceCount', {}],
      ['wordCount', {}],
      ['characterCount', {}],
      ['containsCode', { format: 'SQL' }],
      ['endsWith', { suffix: 'x' }],
      ['alllowercase', {}],
      ['contains', { words: ['zzz', `${'. '.repeat(40)}x`], operator: 'any' }],
      ['validUrls', { onlyDNS: true }],
    ];
    let longest = 0;
    for (const piece of texts) {
      const traffic = answering(piece.repeat(Math.floor(2_000_000 / piece.length)));
      for (const [id, parameters] of rows) {
        const startedAt = performance.now();
        await runOne(checks, traffic, id, { ...parameters });
        const tookMs = performance.now() - startedAt;
        longest = Math.max(longest, tookMs);
        t.true(tookMs < withSlack(3000), `${id} over ${JSON.stringify(piece)}: ${tookMs} ms`);
      }
    }
    t.log(`longest: ${longest.toFixed(0)} ms`);
  },
);

test('a queue serves whoever has used least time, and never one workspace on all workers', (t) => {
  const queue = new FairQueue<string>(1);
  const hostile = { organisationId: 'a', workspaceId: 'bad' };
  const neighbour = { organisationId: 'a', workspaceId: 'good' };
  const other = { organisationId: 'b', workspaceId: 'w' };
  for (let i = 0; i < 5; i++) queue.push(hostile, 'hostile');
  t.is(queue.shift(), 'hostile');
  t.is(queue.shift(), undefined, 'one of its own runs');
  queue.push(neighbour, 'neighbour');
  t.is(queue.shift(), 'neighbour', 'alone, an organisation has all workers');
  queue.done(hostile, 500);
  queue.done(neighbour, 1);
  queue.push(other, 'other');
  for (let i = 0; i < 3; i++) queue.push(neighbour, 'neighbour');
  const order: (string | undefined)[] = [];
  for (let i = 0; i < 5; i++) {
    const item = queue.shift();
    order.push(item);
    queue.done(item === 'other' ? other : item === 'hostile' ? hostile : neighbour, 1);
  }
  t.true(order.indexOf('other') <= 1, order.join());
  t.deepEqual(order.filter((item) => item !== 'other').slice(0, 3), Array(3).fill('neighbour'));
  const pausing = new FairQueue<string>(1);
  pausing.push(hostile, 'h');
  pausing.shift();
  pausing.done(hostile, 1000);
  pausing.push(neighbour, 'n');
  pausing.push(hostile, 'h');
  t.is(pausing.shift(), 'n', 'a pause pays no debt');
});

test('a queue in which tenants take turns gives everything once, in order within a tenant', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat())), (items) => {
      const queue = new FairQueue<readonly [string, number]>();
      for (const item of items) queue.push(of(item[0]), item);
      t.is(queue.length, items.length);
      const out: (readonly [string, number])[] = [];
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
        out.push(item);
        queue.done(of(item[0]), 1);
      }
      for (const tenant of ['a', 'b', 'c']) {
        const of = (list: readonly (readonly [string, number])[]) => list.filter(([name]) => name === tenant);
        t.deepEqual(of(out), of(items));
        // Nobody is passed over while others come twice.
        const firstOut = out.findIndex(([name]) => name === tenant);
        t.true(firstOut < 3);
      }
    }),
  );
});

test('JSON is found wherever it stands in a text', (t) => {
  fc.assert(
    fc.property(
      fc.object({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as object),
      fc.constantFrom('', 'Here: ', '```json\n', 'a [link] and {x} then ', '"quoted" '),
      fc.constantFrom('', ' thanks', '\n```', ' }'),
      (value, before, after) => {
        if (before.startsWith('```') !== after.endsWith('```')) return;
        const found = jsonIn(before + JSON.stringify(value) + after).map((one) => JSON.stringify(one));
        t.true(found.includes(JSON.stringify(value)), JSON.stringify({ value, before, after, found }));
      },
    ),
  );
});
