// Facets of the embedded log: what is answered when the time is over, and questions that were given up.
import test from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import { encodeEntry } from '../../src/store/log/entry-text.ts';
import type { EntryTuple } from '../../src/store/log/entry-tuple.ts';
import { mostFrequent } from '../../src/store/log/facets.ts';
import { memorySource } from '../../src/store/sqlite/log/blobs.ts';
import { bytesIn, mayHold } from '../../src/store/sqlite/log/byte-set.ts';
import { countFacets } from '../../src/store/sqlite/log/facet-counts.ts';
import { TextHash } from '../../src/store/sqlite/log/hash.ts';
import { Segment } from '../../src/store/sqlite/log/segment.ts';
import { SegmentBuilder } from '../../src/store/sqlite/log/segment-build.ts';
import { Selection } from '../../src/store/sqlite/log/selection.ts';
import type { Part } from '../../src/store/sqlite/log/view.ts';
import { FailureError } from '../../src/store/sqlite/worker-loop.ts';
import { logEntry } from './log-entries.ts';
import { plainFacets } from './plain-facets.ts';
import { traffic } from './random-log.ts';

const hash = new TextHash(7);
const scope = { org: 'o', workspace: null };
const question = {
  by: ['model', 'statusCode', 'apiKey', 'errorReason', 'user', { metadata: 'environment' }],
  take: 50,
  names: 500,
} as const;

function partOf(entries: readonly RequestRecord[], firstSeq: number): Part {
  const builder = new SegmentBuilder(entries.length, hash);
  for (const [i, entry] of entries.entries()) {
    const text = encodeEntry(entry);
    builder.add(firstSeq + i, JSON.parse(text) as EntryTuple, text);
  }
  const { head, bytes, entries: texts, ...bounds } = builder.finish(false);
  const segment = new Segment(head, memorySource(bytes), texts);
  return { ...bounds, count: entries.length, open: () => segment };
}

/** Hours of entries, a part each. */
function hours(): { readonly all: RequestRecord[]; readonly parts: Part[] } {
  const random = traffic(31, 'o');
  const all = Array.from({ length: 600 }, random.entry).sort((a, b) => a.createdAt - b.createdAt);
  const parts = [0, 1, 2].map((hour) => partOf(all.slice(hour * 200, hour * 200 + 200), hour * 200 + 1));
  return { all, parts };
}

test('all is counted while there is time, again and again, narrowed or not', (t) => {
  const { all, parts } = hours();
  const selection = new Selection(scope, {}, hash, undefined);
  const failed = new Selection(
    ...([scope, { statusCodes: [429, 500] }, hash, undefined, selection.values] as const),
  );
  const narrowed = all.filter(({ statusCode }) => statusCode === 429 || statusCode === 500);
  for (let round = 0; round < 3; round++) {
    for (const [by, entries] of [
      [selection, all],
      [failed, narrowed],
    ] as const) {
      const { values, metadataNames, countedFrom } = countFacets(parts, question, by, () => false);
      const wanted = plainFacets(entries, question);
      t.deepEqual(
        values,
        wanted.facets.map((facet) => facet.values),
      );
      t.deepEqual(metadataNames, wanted.metadataNames);
      t.is(countedFrom, null);
    }
  }
});

test('when the time is over the newest entries are counted, and it is told from when on', (t) => {
  const { all, parts } = hours();
  let looks = 0;
  const isOver = (): boolean => ++looks > 1;
  const selection = new Selection(scope, {}, hash, undefined);
  const { values, countedFrom } = countFacets(parts, question, selection, isOver);
  t.is(countedFrom, (parts[0]?.maxTime ?? 0) + 1);
  const counted = plainFacets(all.slice(200), question);
  t.deepEqual(
    values,
    counted.facets.map((facet) => facet.values),
    'two of three parts, the newest',
  );
  const least = plainFacets(
    all.filter(({ createdAt }) => createdAt >= (countedFrom ?? 0)),
    question,
  );
  const models = new Map(values[0]?.map(({ value, requests }) => [value, requests]));
  t.true(least.facets[0]?.values.every(({ value, requests }) => (models.get(value) ?? 0) >= requests));
  const first = countFacets(parts, question, selection, () => true);
  t.is(first.countedFrom, (parts[1]?.maxTime ?? 0) + 1, 'something is always counted');
});

test('a question whose caller has left reads no further, and says what to do', (t) => {
  const { parts } = hours();
  const [part] = parts as [Part];
  const rows = (expiresAt: number): number =>
    new Selection(...([scope, {}, hash, undefined, undefined, undefined, expiresAt] as const)).rows(
      part.open(),
    ).count;
  t.is(rows(Number.POSITIVE_INFINITY), 200);
  const error = t.throws(() => rows(0), { instanceOf: FailureError });
  t.is(error?.failure.reason, 'store_unavailable');
  t.regex(error?.failure.message ?? '', /shorter time/);
  t.is(error?.failure.retryAfterMs, 1000);
});

test('a text with a byte that a column lacks is not looked for in it', (t) => {
  const texts = ['0a1f-22', 'über', '\u{1f600}'];
  const set = bytesIn(texts);
  for (const text of ['a1', '22', 'ü', 'ber', '\u{1f600}', '']) t.true(mayHold(set, Buffer.from(text)), text);
  for (const text of ['a1x', 'ä', '\u{1f680}\0', 'Ber']) t.false(mayHold(set, Buffer.from(text)), text);
  for (let byte = 0; byte < 256; byte++)
    t.is(mayHold(set, Buffer.from([byte])), Buffer.from(texts.join('')).includes(byte), String(byte));
});

test('the most frequent values are those of putting all in order', (t) => {
  const random = traffic(5, 'o');
  for (const take of [0, 1, 3, 50]) {
    const counts = new Map<string, number>([['', 99]]);
    for (let i = 0; i < 300; i++) {
      const value = `v${random.pick([...Array(90).keys()])}`;
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const all = [...counts].map(([value, requests]) => ({ value, requests })).filter(({ value }) => value);
    all.sort((a, b) => b.requests - a.requests || (a.value < b.value ? -1 : 1));
    t.deepEqual(mostFrequent(counts, take), all.slice(0, take));
  }
});

test('more names of metadata than have columns are found', (t) => {
  const entries = Array.from({ length: 80 }, (_, i) =>
    logEntry({
      id: `e${i}`,
      organisationId: 'o',
      createdAt: i,
      statusCode: 200 + (i % 2),
      metadata: { [`k${i}`]: 'v' },
    }),
  );
  const part = partOf(entries, 1);
  for (const filter of [{}, { statusCodes: [201] }]) {
    const selection = new Selection(scope, filter, hash, undefined);
    const { metadataNames } = countFacets([part], { by: [], take: 1, names: 500 }, selection, () => false);
    const own = entries.filter(({ statusCode }) => !filter.statusCodes || statusCode === 201);
    t.deepEqual(metadataNames, plainFacets(own, { by: [], take: 1, names: 500 }).metadataNames);
  }
});
