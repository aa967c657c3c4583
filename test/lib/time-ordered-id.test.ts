import test from 'ava';
import { timeOrderedId } from '../../src/lib/time-ordered-id.ts';

test('ids are UUIDs of version 7, unique, and in the order of their milliseconds', async (t) => {
  const before = Date.now();
  const ids = Array.from({ length: 10_000 }, timeOrderedId);
  await new Promise((resolve) => setTimeout(resolve, 5));
  const later = timeOrderedId();
  t.is(new Set(ids).size, ids.length);
  for (const id of ids) {
    t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    t.true(id < later);
  }
  const made = Number.parseInt(later.replaceAll('-', '').slice(0, 12), 16);
  t.true(made >= before && made <= Date.now());
});
