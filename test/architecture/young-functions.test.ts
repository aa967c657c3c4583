// What belongs to one call dies young. The engine makes a function literal that is assigned to a member in the old generation,
// whatever it is the member of: all that the function sees, which is a whole call, then lives until the next whole collection.
import test from 'ava';
import { sourcesOf } from './sources.ts';

/** Rooms whose code runs for each call. */
const ROOMS = [
  'src/call',
  'src/rpc',
  'src/edge/plain',
  'src/inference',
  'src/providers',
  'src/ledger',
  'src/lib/egress',
  'src/lib/incoming',
];

const ASSIGNED =
  /[\w)\]]\??(?:\.#?\w+|\[[^\]\n]*\]) (?:\?\?|\|\|)?= (?:async )?(?:\([^()\n]*\)(?:: [^=\n]+)? =>|\w+ =>|function\b)/;

/** Types of constants and fields have points as well. */
const DECLARED = /\b(?:const|let|readonly)\b/;

const isAssigned = (line: string): boolean => ASSIGNED.test(line) && !DECLARED.test(line);

test('no function literal of a call is assigned to a member: it is a constant first', (t) => {
  for (const room of ROOMS) {
    const sources = sourcesOf(room);
    t.true(sources.length > 0, room);
    t.deepEqual(
      sources.filter(({ code }) => code.split('\n').some(isAssigned)).map(({ path }) => path),
      [],
    );
  }
});

test('the rule sees what it is for', (t) => {
  for (const code of [
    'call.detach = (answer) => {',
    'this.#wake = () => resolve(undefined);',
    'call.streamHooks = (): void => note(call);',
    'held[name] ??= async (one, two) => {',
    'res.end = function () {',
    'list.at(0).left = error => call.abort(error);',
  ])
    t.true(isAssigned(code), code);
  for (const code of [
    'const detach = (answer) => {',
    'call.detach = detach;',
    'readonly #onData = (bytes: Buffer): void => {',
    'const given: typeof plans.peek = (tenant) => tenant;',
    'const made = list.map((one) => one.id);',
    'if (call.count === (limit)) return () => {};',
  ])
    t.false(isAssigned(code), code);
});
