// Two workers of which the first may get no time at all.
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { fail, invalidField } from '../../src/lib/errors.ts';
import { hedgedWorker } from '../../src/store/sqlite/log/hedged-worker.ts';
import type { WorkerClient } from '../../src/store/sqlite/worker-client.ts';

interface Asked {
  readonly client: WorkerClient<string>;
  readonly deadlines: (number | undefined)[];
  closed: boolean;
}

function worker(answer: () => Promise<unknown>): Asked {
  const asked: Asked = {
    deadlines: [],
    closed: false,
    client: {
      call: <T>(_call: string, _length?: number, deadlineMs?: number) => {
        asked.deadlines.push(deadlineMs);
        return answer() as Promise<T>;
      },
      close: async () => {
        asked.closed = true;
      },
    },
  };
  return asked;
}

const AWAY = fail('store_unavailable', 'away');
const soon =
  (text: string, ms = 0): (() => Promise<string>) =>
  () =>
    sleep(ms, text);
const never = (): Promise<unknown> => new Promise(() => {});
const both = (first: Asked, second: Asked, hedgeMs = 40): WorkerClient<string> =>
  hedgedWorker(first.client, second.client, { deadlineMs: 5000 }, hedgeMs);

test('who answers in time is the only one that is asked', async (t) => {
  const [first, second] = [worker(soon('first')), worker(soon('second'))];
  const client = both(first, second);
  t.is(await client.call('x'), 'first');
  await sleep(60);
  t.deepEqual(second.deadlines, []);
  await client.close('close');
  t.true(first.closed && second.closed);
});

test('who gets no time is not waited for, and the other has the rest of the time', async (t) => {
  const [first, second] = [worker(never), worker(soon('second'))];
  t.is(await both(first, second).call('x', 0, 1000), 'second');
  const [left] = second.deadlines;
  t.true(left !== undefined && left < 1000 && left > 500, String(left));
});

test('who answers late after all is heard when the other is later', async (t) => {
  t.is(await both(worker(soon('first', 120)), worker(never)).call('x'), 'first');
});

test('who is gone is not waited for', async (t) => {
  const [first, second] = [worker(() => Promise.reject(AWAY)), worker(soon('second'))];
  t.is(await both(first, second, 60_000).call('x'), 'second');
});

test('the other one is asked once, however the first ends', async (t) => {
  const first = worker(async () => {
    await sleep(80);
    throw AWAY;
  });
  const second = worker(soon('second', 120));
  t.is(await both(first, second, 20).call('x'), 'second');
  t.is(second.deadlines.length, 1);
});

test('a refusal is an answer; when nobody can answer, that is told', async (t) => {
  const refused = worker(() => Promise.reject(invalidField('page', 'is no page')));
  const unused = worker(soon('second'));
  await t.throwsAsync(both(refused, unused).call('x'), { message: /page/ });
  t.deepEqual(unused.deadlines, []);
  const gone = (): Promise<never> => Promise.reject(AWAY);
  await t.throwsAsync(both(worker(gone), worker(gone)).call('x'), { message: 'away' });
});
