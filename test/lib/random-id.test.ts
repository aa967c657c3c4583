import test from 'ava';
import { randomId } from '../../src/lib/random-id.ts';

const V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('ids are of version 4, each another one, and every digit of them is random', (t) => {
  const ids = Array.from({ length: 5000 }, randomId);
  for (const id of ids) t.regex(id, V4);
  t.is(new Set(ids).size, ids.length);
  for (let at = 0; at < 36; at++) {
    const digits = new Set(ids.map((id) => id[at]));
    const fixed = [8, 13, 18, 23, 14].includes(at);
    t.is(digits.size, fixed ? 1 : at === 19 ? 4 : 16, String(at));
  }
});
