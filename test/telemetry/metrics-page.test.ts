// Samples of several processes become one as their family declares, and restricted families are for operators.
import test from 'ava';
import { Distribution } from '../../src/telemetry/distribution.ts';
import {
  type Aggregation,
  counter,
  type Family,
  gauge,
  histogramSamples,
} from '../../src/telemetry/family.ts';
import { type FamilyValues, printPage, readFamilies } from '../../src/telemetry/metrics-page.ts';
import { storeFamily } from '../../src/telemetry/process-families.ts';

/** What goes between processes is JSON. */
const sent = async (families: readonly Family[]): Promise<FamilyValues[]> =>
  JSON.parse(JSON.stringify(await readFamilies(families))) as FamilyValues[];

/** Half a second, so many times. */
function tookTimes(count: number): Distribution {
  const distribution = new Distribution([1]);
  for (let i = 0; i < count; i++) distribution.observe(0.5);
  return distribution;
}

const samplesOf = (text: string): string[] =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

async function merged(...processes: (readonly Family[])[]): Promise<string[]> {
  const { text } = await printPage(await Promise.all(processes.map(sent)), 'operator');
  return samplesOf(text);
}

test('one process that cannot reach a store shows among those that can', async (t) => {
  const up = (answers: boolean): Family[] => [storeFamily({ documents: async () => answers })];
  t.deepEqual(await merged(up(true), up(false), up(true)), ['sluice_store_up{store="documents"} 0']);
  t.deepEqual(await merged(up(true), up(true)), ['sluice_store_up{store="documents"} 1']);
});

for (const [aggregation, value] of [
  ['sum', 6],
  ['max', 5],
  ['min', 1],
  ['mean', 3],
] as const satisfies readonly (readonly [Aggregation, number])[]) {
  test(`gauges by ${aggregation}, whatever their name says`, async (t) => {
    const read = (own: number): Family[] => [gauge('some_seconds', 'Some', aggregation, () => own)];
    t.deepEqual(await merged(read(5), read(1)), [`some_seconds ${aggregation === 'mean' ? 3 : value}`]);
  });
}

test('counters and histograms add up by their labels, and each family is shown once', async (t) => {
  const read = (own: number): Family[] => [
    counter('calls_total', 'Calls', () => own),
    {
      name: 'took_seconds',
      help: 'Took',
      type: 'histogram',
      labels: ['to'],
      aggregation: 'sum',
      samples: () => histogramSamples('took_seconds', { to: 'a b' }, tookTimes(own)),
    },
  ];
  t.deepEqual(await merged(read(4), read(6)), [
    'calls_total 10',
    'took_seconds_bucket{to="a b",le="1"} 10',
    'took_seconds_bucket{to="a b",le="+Inf"} 10',
    'took_seconds_sum{to="a b"} 5',
    'took_seconds_count{to="a b"} 10',
  ]);
  const { text } = await printPage([await sent(read(1)), await sent(read(2))], 'anybody');
  t.is(text.split('# TYPE calls_total counter').length, 2);
});

test('a restricted family is on the page of operators alone', async (t) => {
  const families: Family[] = [
    { ...counter('cost_total', 'Cost', () => 1), restricted: true },
    counter('calls_total', 'Calls', () => 2),
  ];
  const page = async (audience: 'anybody' | 'operator'): Promise<string> =>
    (await printPage([await sent(families)], audience)).text;
  t.deepEqual(samplesOf(await page('anybody')), ['calls_total 2']);
  t.deepEqual(samplesOf(await page('operator')), ['cost_total 1', 'calls_total 2']);
});
