// One flight for identical calls.
import test from 'ava';
import { type FlightEntry, type Lead, SingleFlight } from '../../../src/inference/cache/single-flight.ts';
import { Aborter } from '../../../src/lib/abort.ts';
import { soon } from './subject.ts';

function leadOf<T>(turn: FlightEntry<T> | Promise<FlightEntry<T>>): Lead<T> {
  if (turn instanceof Promise || turn.role !== 'lead') throw new Error('does not lead');
  return turn.lead;
}

const FREE = new Aborter();

test('one leads, the others get what it brings', async (t) => {
  const flights = new SingleFlight<number>(1000);
  const lead = leadOf(flights.enter('k', FREE));
  const others = Array.from({ length: 199 }, () => flights.enter('k', FREE));
  leadOf(flights.enter('other', FREE)).fail();
  t.is(flights.waiting, 199);
  lead.bring(7);
  for (const turn of await Promise.all(others)) t.deepEqual(turn, { role: 'follow', value: 7 });
  t.is(flights.size, 0);
});

test('after a failure one leads, then two, then four; success ends it', async (t) => {
  const flights = new SingleFlight<number>(1000);
  const leads: Lead<number>[] = [];
  const values: number[] = [];
  leads.push(leadOf(flights.enter('k', FREE)));
  for (let i = 0; i < 20; i++) {
    void Promise.resolve(flights.enter('k', FREE)).then((turn) => {
      if (turn.role === 'lead') leads.push(turn.lead);
      else if (turn.role === 'follow') values.push(turn.value);
    });
  }
  leads[0]?.fail();
  leads[0]?.fail();
  await soon();
  t.is(leads.length, 2);
  leads[1]?.fail();
  await soon();
  t.is(leads.length, 4);
  leads[2]?.fail();
  await soon();
  t.is(leads.length, 8);
  leads[5]?.bring(1);
  await soon();
  t.is(values.length, 13);
  t.is(flights.size, 0);
  leads[3]?.fail();
  t.is(flights.waiting, 0);
});

test('a leader that leaves hands on at once; a waiter that leaves is free at once, with its own reason', async (t) => {
  const flights = new SingleFlight<number>(1000);
  const [first, second] = [new Aborter(), new Aborter()];
  leadOf(flights.enter('k', first));
  const waiting = flights.enter('k', second) as Promise<FlightEntry<number>>;
  const third = flights.enter('k', FREE) as Promise<FlightEntry<number>>;
  second.abort(new Error('mine'));
  await t.throwsAsync(waiting, { message: 'mine' });
  first.abort(new Error('its own'));
  t.is((await third).role, 'lead');
  const gone = new Aborter();
  gone.abort(new Error('left'));
  t.throws(() => flights.enter('k', gone), { message: 'left' });
});

test('waits are bounded, old flights are not joined, a refresh supersedes', async (t) => {
  const flights = new SingleFlight<number>(40);
  const lead = leadOf(flights.enter('k', FREE));
  t.is((await flights.enter('k', FREE, 10)).role, 'alone');
  await soon(45);
  const newer = leadOf(flights.enter('k', FREE));
  const waiting = flights.enter('k', FREE);
  lead.bring(1);
  t.is(flights.size, 1, 'the newer flight goes on');
  flights.supersede('k');
  t.true(newer.superseded);
  newer.bring(2);
  t.deepEqual(await waiting, { role: 'follow', value: 2 });
  const last = leadOf(flights.enter('k', FREE));
  const alone = flights.enter('k', FREE);
  last.scatter();
  t.is((await alone).role, 'alone');
});
