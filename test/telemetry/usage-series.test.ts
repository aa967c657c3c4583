// Series of model calls: bounded whatever callers write, and right beyond the bound too.
import test from 'ava';
import { OTHER } from '../../src/telemetry/series-table.ts';
import { usageFamilies } from '../../src/telemetry/usage-families.ts';
import { UsageSeries } from '../../src/telemetry/usage-series.ts';
import { entryOf } from './entry.ts';

const everything = { find: () => ({ mode: 'chat' }) };

test('beyond the bound all is counted as other', async (t) => {
  const usage = new UsageSeries(everything, Date.now, 10);
  for (let i = 0; i < 1000; i++)
    for (const operation of ['a/One', 'a/Two']) usage.count(entryOf(operation, `m${i}`));
  t.is(usage.attempts().length, 12);
  t.is(usage.calls().length, 12);
  const counted = usage.attempts().reduce((sum, { durations }) => sum + durations.count, 0);
  t.is(counted, 2000);
  const others = usage.attempts().filter(({ labels }) => labels.model === OTHER);
  t.deepEqual(others.map(({ labels }) => labels.operation).sort(), ['a/One', 'a/Two']);
  const tokens = usageFamilies(usage).find(({ name }) => name === 'sluice_tokens_total');
  const samples = (await tokens?.samples()) ?? [];
  t.is(
    samples.filter(({ labels }) => labels.type === 'input').reduce((sum, { value }) => sum + value, 0),
    4000,
  );
});

test('a model that nobody knows is other from the first', (t) => {
  const usage = new UsageSeries({ find: (_, model) => (model === 'known' ? {} : undefined) });
  usage.count(entryOf('a/One', 'known'));
  usage.count(entryOf('a/One', 'secret of a tenant'));
  usage.count(entryOf('a/One', ''));
  t.deepEqual(
    usage.calls().map(({ labels }) => labels.model),
    ['known', OTHER, ''],
  );
});

test('failed attempts have series by their status or reason, and unknown words are other', (t) => {
  const usage = new UsageSeries(everything);
  const failed = (reason: string, statusCode: number) =>
    usage.count(entryOf('a/One', 'm', { outcome: 'error', statusCode, error: { reason, message: 'x' } }));
  failed('upstream_status', 429);
  failed('upstream_timeout', 0);
  usage.count({ ...entryOf('a/One', 'm'), cacheStatus: 'HIT' });
  usage.count({ ...entryOf('a/One', 'm'), cacheStatus: 'NONE OF OURS' });
  t.deepEqual(
    usage.attempts().map(({ labels }) => labels.error),
    ['429', 'upstream_timeout', ''],
  );
  t.deepEqual(
    [...usage.cache],
    [
      ['hit', 1],
      [OTHER, 1],
    ],
  );
});
