// Configs with very many members: refused in few words, without comparing each with all that there are.
import test from 'ava';
import type { Fault } from '../../../src/inference/plan/faults.ts';
import { readConfig } from '../../../src/inference/plan/read-config.ts';

test('an object with more than a thousand members is one fault', (t) => {
  const faults: Fault[] = [];
  readConfig(Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`k${i}`, 1])), '', faults);
  t.deepEqual(faults, [{ path: 'config', message: 'has more than 1000 members' }]);
  const inner: Fault[] = [];
  const targets = [{ retry: Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, 1])) }];
  readConfig({ targets }, '', inner);
  t.deepEqual(
    inner.map(({ path }) => path),
    ['targets[0].retry'],
  );
});
