// Two instances that count alone while their Redis is frozen: each from what it was last told, and together again after.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { Admission, type Ticket } from '../../src/ledger/limits/admission.ts';
import { RetryQueue } from '../../src/ledger/limits/retry-queue.ts';
import { budgetRule, type Rule, rateRules } from '../../src/ledger/limits/rule.ts';
import { OwnEntries } from '../../src/ledger/own-entries.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { openRedisState } from '../../src/store/redis/open-redis.ts';
import type { SharedState } from '../../src/store/shared-state.ts';
import { untilReady } from '../store/shared-stores.ts';
import { until } from '../support/limits-client.ts';
import { reportMissing, startOwnRedis } from '../support/servers.ts';

const server = await startOwnRedis();
if (!server) reportMissing(test, 'Redis');
test.after.always(async () => {
  server?.resume();
  await server?.stop();
});

const ORG = 'org';
const prices = openPriceList();
const USED = { promptTokens: 5, completionTokens: 5, totalTokens: 10 };

/** An instance: its own connection, its own admission. */
class Instance {
  readonly state: SharedState;
  readonly later: RetryQueue;
  readonly #admission: Admission;

  constructor(url: string) {
    this.state = openRedisState({ url, deadlineMs: 400 });
    const onTrouble = (): void => {};
    this.later = new RetryQueue({ everyMs: 100, most: 1000, onTrouble });
    this.#admission = new Admission({
      state: this.state,
      prices,
      owner: randomUUID(),
      leaseMs: 60_000,
      later: this.later,
      journal: { mark: () => {}, own: new OwnEntries('a') },
      now: Date.now,
      onTrouble,
    });
  }

  /** A call that goes on until it is ended; undefined when it is refused. */
  async begin(rules: readonly Rule[]): Promise<Ticket | undefined> {
    const call = { id: randomUUID(), organisationId: ORG, rules, model: undefined, provider: undefined };
    try {
      return await this.#admission.admit({ ...call, estimate: { input: 5, output: 5 }, call: undefined });
    } catch (error) {
      if (error instanceof GatewayError && ['rate_limited', 'budget_exhausted'].includes(error.reason))
        return undefined;
      throw error;
    }
  }

  async end(ticket: Ticket): Promise<void> {
    const startedAt = Date.now();
    const attempt = { provider: 'p', host: 'h', model: 'm', statusCode: 200, outcome: 'success' as const };
    await this.#admission.settle(ticket, {
      attempts: [{ ...attempt, id: ticket.id, startedAt, latencyMs: 1, usage: USED }],
      failed: false,
      entry: undefined,
      done: () => {},
      unwritten: () => {},
    });
  }

  /** How many of so many whole calls get through. */
  async through(rules: readonly Rule[], calls: number): Promise<number> {
    let count = 0;
    for (let i = 0; i < calls; i++) {
      const ticket = await this.begin(rules);
      if (ticket === undefined) continue;
      count++;
      await this.end(ticket);
    }
    return count;
  }
}

if (server) {
  const pair = async (t: ExecutionContext): Promise<readonly [Instance, Instance]> => {
    const both = [new Instance(server.url), new Instance(server.url)] as const;
    t.teardown(() => close(both));
    await Promise.all(both.map(({ state }) => untilReady(state)));
    return both;
  };
  const close = async (both: readonly Instance[]): Promise<void> => {
    for (const { later, state } of both) {
      later.stop();
      await state.close();
    }
  };
  const local = { on_store_outage: 'local' };

  test.serial('a rate: what was left when each was last told, for each', async (t) => {
    const [one, two] = await pair(t);
    const rules = rateRules([{ type: 'requests', unit: 'rph', value: 10, ...local }], 'key:rate', 'k');
    t.is(await one.through(rules, 4), 4);
    t.is(await two.through(rules, 2), 2);
    server.pause();
    t.is(await one.through(rules, 20), 6);
    t.is(await two.through(rules, 20), 4);
    server.resume();
    await Promise.all([untilReady(one.state), untilReady(two.state)]);
    const left = await until(
      () => one.through(rules, 5),
      (count) => count > 0,
    );
    // What was asked and not heard was counted all the same when Redis went on: those calls were made.
    t.true(left >= 1 && left <= 4, `${left}: what Redis kept counts again`);
  });

  test.serial(
    'a budget: never more than what was left for each, and all of it is charged once',
    async (t) => {
      const [one, two] = await pair(t);
      const rule = budgetRule({ type: 'tokens', credit_limit: 200, ...local }, 'key:budget', 'k', undefined);
      t.is(await one.through([rule], 5), 5);
      t.is(await two.through([rule], 5), 5);
      server.pause();
      const alone = [await one.through([rule], 50), await two.through([rule], 50)];
      t.deepEqual(alone, [15, 10], 'the first one was told of 150, the second of 100');
      server.resume();
      const spent = await until(
        async () =>
          (await two.state.readBudget(ORG, { key: `${rule.id}:0.0` }).catch(() => undefined))?.spent,
        (sum) => sum === 350n,
      );
      t.is(spent, 350n);
      t.is(await one.through([rule], 1), 0, 'spent for all');
      t.is((await two.state.readBudget(ORG, { key: `${rule.id}:0.0` })).held, 0n);
    },
  );

  test.serial('calls in flight: each its own, those of before among them', async (t) => {
    const [one, two] = await pair(t);
    const rules = rateRules([{ type: 'requests', unit: 'concurrent', value: 3, ...local }], 'key:slots', 'k');
    const before = [await one.begin(rules), await one.begin(rules), await two.begin(rules)];
    t.is(before.filter((ticket) => ticket !== undefined).length, 3);
    t.is(await two.begin(rules), undefined);
    server.pause();
    const during = await one.begin(rules);
    t.truthy(during);
    t.is(await one.begin(rules), undefined, 'two of before and one of now');
    await one.end(before[0]!);
    t.is(await one.through(rules, 3), 3, 'one after the other');
    t.is(await two.through(rules, 3), 3);
    server.resume();
    await Promise.all([untilReady(one.state), untilReady(two.state)]);
    await one.end(before[1]!);
    await two.end(before[2]!);
    await one.end(during!);
    const free = await until(
      async () => {
        const tickets = [await one.begin(rules), await two.begin(rules), await one.begin(rules)];
        const begun = tickets.filter((ticket) => ticket !== undefined);
        for (const ticket of begun) await one.end(ticket);
        return begun.length;
      },
      (count) => count === 3,
    );
    t.is(free, 3);
  });
}
