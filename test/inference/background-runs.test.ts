// Who makes a response in the background when processes end, stop or stand still: one at a time, and none for ever.
import type { JsonObject } from '@bufbuild/protobuf';
import test, { type ExecutionContext } from 'ava';
import type { ResponseEvent } from '../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../src/call/call.ts';
import type { Run } from '../../src/inference/responses/background-run.ts';
import { type AgainOrder, BackgroundRuns } from '../../src/inference/responses/background-runs.ts';
import { KeptResponses } from '../../src/inference/responses/kept-responses.ts';
import { LEASE_MS, RunRecords } from '../../src/inference/responses/run-records.ts';
import { fail } from '../../src/lib/errors.ts';
import { eventMessage } from '../../src/providers/forms/responses/pieces.ts';
import { codec } from '../../src/rest/codec.ts';
import type { KeptRow, KeptValues } from '../../src/store/kept-values.ts';
import { eventually } from '../support/eventually.ts';

const owner = { organisationId: 'org', workspaceId: 'ws' };
const KEY = '0123456789abcdef0123456789abcdef';
const id = `resp_${KEY}`;
const HOUR_MS = 3_600_000;

/** Values in memory. `away` refuses writes. */
class Values implements KeptValues {
  readonly rows = new Map<string, KeptRow>();
  away = false;

  #check(): void {
    if (this.away) throw fail('store_unavailable', 'the store is away');
  }

  async put(key: string, value: Uint8Array, expiresAt: number): Promise<void> {
    this.#check();
    this.rows.set(key, { key, value, expiresAt });
  }

  async replace(key: string, before: Uint8Array, value: Uint8Array, expiresAt: number): Promise<boolean> {
    this.#check();
    const row = this.rows.get(key);
    if (row === undefined || Buffer.compare(row.value, before) !== 0) return false;
    this.rows.set(key, { key, value, expiresAt });
    return true;
  }

  async get(key: string, now: number): Promise<Uint8Array | undefined> {
    const row = this.rows.get(key);
    return row === undefined || row.expiresAt <= now ? undefined : row.value;
  }

  async remove(key: string): Promise<boolean> {
    this.#check();
    return this.rows.delete(key);
  }

  async sweep(): Promise<number> {
    return 0;
  }

  async scan(): Promise<readonly KeptRow[]> {
    return [];
  }

  async list(prefix: string, after: string): Promise<readonly KeptRow[]> {
    return [...this.rows.values()].filter(({ key }) => key.startsWith(prefix) && key > after);
  }
}

interface Process {
  readonly runs: BackgroundRuns;
  /** Responses that it makes again. */
  readonly orders: AgainOrder[];
}

interface World {
  readonly values: Values;
  readonly kept: KeptResponses;
  readonly clock: { now: number };
  /** One more process on the store. */
  process(alone?: boolean): Process;
}

function world(t: ExecutionContext): World {
  const values = new Values();
  const clock = { now: 1_000_000 };
  const now = (): number => clock.now;
  const deps = { values, keptMs: 9e9, now, onTrouble: () => {} };
  const kept = new KeptResponses({ ...deps, secret: Buffer.alloc(32, 1) });
  t.teardown(() => kept.close());
  return {
    values,
    kept,
    clock,
    process(alone = false) {
      const orders: AgainOrder[] = [];
      const runs = new BackgroundRuns({
        kept,
        records: new RunRecords(deps),
        alone,
        now,
        onTrouble: () => {},
      });
      runs.open(
        (order) =>
          new Promise((_, reject) => {
            orders.push(order);
            order.signal.addEventListener('abort', () => reject(order.signal.reason));
          }),
      );
      t.teardown(() => runs.close());
      return { runs, orders };
    },
  };
}

const call = { stop: () => {}, record: { provider: '', model: '' } } as unknown as Call;

async function begin(t: ExecutionContext, { runs }: Process, more: JsonObject = {}): Promise<Run> {
  const response = { id, object: 'response', status: 'queued', background: true, output: [] };
  const input = [{ type: 'message', role: 'user', content: 'hi', id: `msg_${KEY}800` }];
  const run = await runs.begin(
    { id, owner, response, input: { input, before: 0 }, made: { provider: 'openai', model: 'm' } },
    { request: { model: 'm', ...more }, caller: { keyId: 'k', headers: {} }, traceId: 'trace' },
  );
  // What a kill would end.
  t.teardown(() => {
    run.leave();
    return run.finish();
  });
  return run;
}

/** What is kept of the response. */
async function response({ kept }: World): Promise<JsonObject> {
  return (await kept.get(owner, id))!.whole!.response;
}

/** All looks of a process until it has done what is due. */
async function look({ runs }: Process): Promise<void> {
  // One may be under way since before the clock went on.
  await runs.look();
  await runs.look();
}

async function ended(at: World): Promise<JsonObject> {
  return eventually('its end', async () => {
    const now = await response(at);
    return now.status !== 'queued' && now.status !== 'in_progress' && now;
  });
}

const event = (type: string, number: number, more: JsonObject = {}): ResponseEvent =>
  eventMessage(codec, { type, sequence_number: number, ...more });

test('a response is another process’s when the lease of the first one is over, and one’s alone', async (t) => {
  const at = world(t);
  const [first, second, third] = [at.process(), at.process(), at.process()];
  await begin(t, first);
  at.clock.now += LEASE_MS - 1;
  await look(second);
  t.is(second.orders.length, 0);
  at.clock.now += 1;
  await Promise.all([look(second), look(third)]);
  t.is(second.orders.length + third.orders.length, 1);
  const [order] = [...second.orders, ...third.orders];
  t.deepEqual(order?.request, {
    model: 'm',
    input: [{ type: 'message', role: 'user', content: 'hi' }],
  });
  t.is(order?.traceId, 'trace');
});

test('asking for a response takes it over, too', async (t) => {
  const at = world(t);
  const [first, second] = [at.process(), at.process()];
  await begin(t, first);
  const found = (await at.kept.get(owner, id))!;
  t.is((await second.runs.settled(owner, id, found)).whole?.response.status, 'queued');
  t.is(second.orders.length, 0);
  at.clock.now += LEASE_MS;
  t.is((await second.runs.settled(owner, id, found)).whole?.response.status, 'queued');
  t.is(second.orders.length, 1);
});

test('a process that stood still for longer than its lease tells and keeps nothing any more', async (t) => {
  const at = world(t);
  const [first, second] = [at.process(), at.process()];
  const run = await begin(t, first);
  at.clock.now += LEASE_MS;
  await look(second);
  t.is(second.orders.length, 1);
  const made = first.runs.finish(run, call, async () =>
    (async function* () {
      yield event('response.created', 0, { response: { id } });
      yield event('response.output_text.delta', 1, { delta: 'x', item_id: 'a' });
    })(),
  );
  await t.throwsAsync(made, { message: /another instance/ });
  t.true(run.isGone);
  t.is(run.log.texts.length, 1);
  t.is((await response(at)).status, 'queued');
  t.truthy(second.runs.get(owner, id));
});

test('one of which a part was answered is not made again', async (t) => {
  const at = world(t);
  const [first, second] = [at.process(), at.process()];
  const run = await begin(t, first);
  void first.runs
    .finish(run, call, async () =>
      (async function* () {
        yield event('response.output_text.delta', 1, { delta: 'x', item_id: 'a' });
        await new Promise(() => {});
      })(),
    )
    .catch(() => {});
  await eventually('its event', () => run.log.texts.length === 2);
  at.clock.now += LEASE_MS;
  await look(second);
  t.is(second.orders.length, 0);
  const failed = await ended(at);
  t.is(failed.status, 'failed');
  t.regex(JSON.stringify(failed.error), /a part of it was answered/);
  t.true((await at.kept.get(owner, id))?.whole?.isCut);
});

test('one that three processes died of has failed; those that stopped in order do not count', async (t) => {
  const at = world(t);
  const stops = at.process();
  await begin(t, stops);
  // No call was made yet: the run has no end of its own.
  const closing = stops.runs.close();
  const run = stops.runs.get(owner, id)!;
  await run.finish();
  await closing;
  t.true(run.isGone);
  for (let died = 0; died < 3; died++) {
    const next = at.process();
    await look(next);
    t.is(next.orders.length, 1, `after ${died}`);
    at.clock.now += LEASE_MS;
  }
  const last = at.process();
  await look(last);
  t.is(last.orders.length, 0);
  t.regex(JSON.stringify((await ended(at)).error), /3 times/);
  t.deepEqual(
    [...at.values.rows.keys()].filter((key) => key.includes('run/') || key.includes('/request/')),
    [],
  );
});

for (const [name, more, late, says] of [
  ['is an hour old', {}, HOUR_MS + 1, /for an hour/],
  ['has tools that act', { tools: [{ type: 'mcp', server_label: 's' }] }, LEASE_MS, /type mcp/],
] as const)
  test(`one that ${name} is not made again`, async (t) => {
    const at = world(t);
    await begin(t, at.process(), more as JsonObject);
    at.clock.now += late;
    const next = at.process();
    await look(next);
    t.is(next.orders.length, 0);
    t.regex(JSON.stringify((await ended(at)).error), says);
  });

test('a single process has no lease to wait for, and one whose request is gone has failed', async (t) => {
  const at = world(t);
  await begin(t, at.process(true));
  for (const key of at.values.rows.keys()) if (key.includes('/request/')) at.values.rows.delete(key);
  const next = at.process(true);
  await look(next);
  t.is((await ended(at)).status, 'failed');
});

test('one that is to stop is cancelled by whoever takes it over', async (t) => {
  const at = world(t);
  await begin(t, at.process());
  const next = at.process();
  const found = (await at.kept.get(owner, id))!;
  const cancelled = next.runs.cancel(owner, id, found);
  await eventually('the mark', () => [...at.values.rows.keys()].some((key) => key.includes('/stop/')));
  at.clock.now += LEASE_MS;
  t.is((await cancelled).whole?.response.status, 'cancelled');
  t.is(next.orders.length, 0);
});

test('a store that is away at the end of a response gets it when it is back', async (t) => {
  const at = world(t);
  const first = at.process();
  const run = await begin(t, first);
  const done = { id, status: 'completed', output: [] };
  const made = first.runs.finish(run, call, async () =>
    (async function* () {
      yield event('response.output_text.delta', 1, { delta: 'x', item_id: 'a' });
      at.values.away = true;
      yield event('response.completed', 2, { response: done });
    })(),
  );
  await eventually('its end', () => run.log.texts.length === 3);
  at.values.away = false;
  await made;
  t.is((await response(at)).status, 'completed');
  t.is(first.runs.get(owner, id), undefined);
});
