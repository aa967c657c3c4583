// What every store of kept values does.
import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import type { KeptValues } from '../../src/store/kept-values.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value && Buffer.from(value).toString('utf8');

/** Registers the contract's tests. */
export function keptValuesContract(test: TestFn, store: () => Promise<KeptValues>): void {
  test('kept values: what was put last is there until its time is over', async (t) => {
    const kept = await store();
    const key = randomUUID();
    t.is(await kept.get(key, 0), undefined);
    await kept.put(key, bytes('one'), 1_000);
    await kept.put(key, bytes('two'), 2_000);
    t.is(text(await kept.get(key, 1_999)), 'two');
    t.is(await kept.get(key, 2_000), undefined);
  });

  test('kept values: one that is removed is gone, and only it', async (t) => {
    const kept = await store();
    const [key, other] = [randomUUID(), randomUUID()];
    await kept.put(key, bytes('one'), 9e12);
    await kept.put(other, bytes('other'), 9e12);
    t.true(await kept.remove(key));
    t.false(await kept.remove(key));
    t.is(await kept.get(key, 0), undefined);
    t.is(text(await kept.get(other, 0)), 'other');
  });

  test('kept values: a sweep deletes what is over and leaves the rest', async (t) => {
    const kept = await store();
    const [old, young] = [randomUUID(), randomUUID()];
    await kept.put(old, bytes('old'), 10);
    await kept.put(young, bytes('young'), 9e12);
    t.true((await kept.sweep(20)) >= 1);
    t.is(await kept.get(old, 0), undefined);
    t.is(text(await kept.get(young, 0)), 'young');
  });

  test('kept values: a scan meets each by key, page by page', async (t) => {
    const kept = await store();
    const begin = `scan-${randomUUID()}-`;
    const keys = Array.from({ length: 11 }, (_, i) => `${begin}${String(i).padStart(2, '0')}`);
    await Promise.all(keys.map((key, i) => kept.put(key, bytes(key), 9e12 + i)));
    const found: string[] = [];
    for (let after = begin; ; after = found.at(-1)!) {
      const rows = (await kept.scan(after)).filter(({ key }) => key.startsWith(begin));
      if (rows.length === 0) break;
      for (const { key, value, expiresAt } of rows) {
        t.is(text(value), key);
        t.is(expiresAt, 9e12 + keys.indexOf(key));
        found.push(key);
      }
    }
    t.deepEqual(found, keys);
  });

  test('kept values: a list meets those of its prefix alone', async (t) => {
    const kept = await store();
    const prefix = `list/${randomUUID()}/`;
    const keys = [`${prefix}a`, `${prefix}b/c`, `${prefix}\uffff`];
    for (const key of [...keys, prefix.slice(0, -1), `${prefix.slice(0, -1)}0`, `lisu/${randomUUID()}`])
      await kept.put(key, bytes(key), 9e12);
    const first = await kept.list(prefix, prefix);
    t.deepEqual(
      first.map(({ key, value }) => [key, text(value)]),
      keys.map((key) => [key, key]),
    );
    t.deepEqual(
      (await kept.list(prefix, keys[0]!)).map(({ key }) => key),
      keys.slice(1),
    );
    t.deepEqual(await kept.list(prefix, keys[2]!), []);
  });

  test('kept values: one is replaced only where it is as the writer knows it', async (t) => {
    const kept = await store();
    const key = randomUUID();
    t.false(await kept.replace(key, bytes('one'), bytes('two'), 9e12));
    t.is(await kept.get(key, 0), undefined);
    await kept.put(key, bytes('one'), 1_000);
    t.false(await kept.replace(key, bytes('on'), bytes('two'), 9e12));
    t.is(text(await kept.get(key, 0)), 'one');
    t.true(await kept.replace(key, bytes('one'), bytes('one'), 1_000));
    t.true(await kept.replace(key, bytes('one'), bytes('two'), 2_000));
    t.is(text(await kept.get(key, 1_999)), 'two');
    t.is(await kept.get(key, 2_000), undefined);
    const races = await Promise.all(
      Array.from({ length: 8 }, (_, i) => kept.replace(key, bytes('two'), bytes(`by ${i}`), 9e12)),
    );
    t.is(races.filter(Boolean).length, 1);
    t.is(text(await kept.get(key, 0)), `by ${races.indexOf(true)}`);
  });

  test('kept values: megabytes come back whole', async (t) => {
    const kept = await store();
    const key = randomUUID();
    const value = Buffer.alloc(3 * 1024 * 1024, 'x');
    await kept.put(key, value, 9e12);
    t.is(Buffer.compare(Buffer.from((await kept.get(key, 0)) ?? []), value), 0);
  });
}
