// Semantic mode: what is compared, what must agree to the letter, hits, misses, shadows and faults.
import test from 'ava';
import fc from 'fast-check';
import { createLocalAnswers } from '../../../src/inference/cache/local-answers.ts';
import { createLocalVectors } from '../../../src/inference/cache/local-vectors.ts';
import { literalsOf, meaningOf } from '../../../src/inference/cache/meaning.ts';
import { shadowHeader } from '../../../src/inference/cache/report.ts';
import { createResponseCache } from '../../../src/inference/cache/response-cache.ts';
import type { Embedder } from '../../../src/inference/cache/semantic.ts';
import type { CacheSettings } from '../../../src/inference/cache/settings.ts';
import { SCOPE_VECTORS } from '../../../src/store/memory/vector-index.ts';
import { unitVector } from '../../../src/store/shared/vectors.ts';
import { withSlack } from '../../support/slack.ts';
import { ask, PIECES, pieces, read, SIMPLE, soon, subject, TEXT } from './subject.ts';

const SEMANTIC: CacheSettings = { ...SIMPLE, mode: 'semantic', threshold: 0.9 };
const user = (content: unknown) => ({ role: 'user', content });

/** Letters counted: texts of the same letters are near, in whatever order. */
function letters(text: string): Float32Array {
  const vector = new Float32Array(32);
  for (const letter of text.toLowerCase()) vector[letter.charCodeAt(0) % 32]! += 1;
  return vector;
}

function counting(embed: Embedder['embed'] = async (text) => letters(text)) {
  const embedder = {
    id: 'openai/m',
    calls: 0,
    embed: (text: string, signal: Parameters<Embedder['embed']>[1]) => {
      embedder.calls++;
      return embed(text, signal);
    },
  };
  return embedder;
}

function build(embedMs = 200) {
  return createResponseCache({
    answers: createLocalAnswers({ maxBytes: 1e6 }),
    vectors: createLocalVectors({ maxBytes: 1e6 }),
    embedMs,
  });
}

const meaning = (body: unknown, embeddings = 'e') =>
  meaningOf(subject(body, 'o'), undefined, undefined, embeddings);

test('the last words of the user are the text; all else is the scope', async (t) => {
  const chat = (text: string, more: object = {}) =>
    meaning({ model: 'm', messages: [{ role: 'system', content: 's' }, user(text)], ...more });
  t.is((await chat('Hi there'))?.text, 'Hi there');
  t.is((await chat('a'))?.scope, (await chat('b'))?.scope);
  t.is((await chat('a', { stream: true }))?.scope, (await chat('b'))?.scope);
  t.not((await chat('a', { seed: 1 }))?.scope, (await chat('a'))?.scope);
  t.not((await chat('a', { tools: [{}] }))?.scope, (await chat('a'))?.scope);
  t.not((await chat('pay 17 EUR'))?.scope, (await chat('pay 18 EUR'))?.scope, 'numbers agree to the letter');
  t.not((await chat('read https://a.example'))?.scope, (await chat('read https://b.example'))?.scope);
  t.not((await chat('ask a@x.example'))?.scope, (await chat('ask b@x.example'))?.scope);
  const after = (system: string, said: string, text: string) =>
    meaning({
      messages: [
        { role: 'system', content: system },
        user('Q'),
        { role: 'assistant', content: said },
        user(text),
      ],
    });
  t.is((await after('s', 'A', 'more'))?.text, 'more');
  t.is((await after('s', 'A', 'more'))?.scope, (await after('s', 'A', 'less'))?.scope);
  t.not((await after('s', 'A', 'more'))?.scope, (await after('s', 'B', 'more'))?.scope);
  t.not((await after('s', 'A', 'more'))?.scope, (await after('r', 'A', 'more'))?.scope);
  t.not(
    (await chat('a'))?.scope,
    (
      await meaningOf(
        subject({ model: 'm', messages: [{ role: 'system', content: 's' }, user('a')] }, 'p'),
        undefined,
        undefined,
        'e',
      )
    )?.scope,
  );
  t.not((await meaning({ prompt: 'a' }, 'e'))?.scope, (await meaning({ prompt: 'a' }, 'f'))?.scope);
  t.is((await meaning({ prompt: 'Say hi' }))?.text, 'Say hi');
  const ofImages = subject({ prompt: 'a cat', seed: 1 }, 'o', { operation: 'images' });
  t.is(await meaningOf(ofImages, undefined, undefined, 'e'), undefined, 'another prompt, another image');
  t.is(
    (
      await meaning({
        messages: [
          user([
            { type: 'text', text: 'one' },
            { type: 'text', text: 'two' },
          ]),
          user('three'),
        ],
      })
    )?.text,
    'one\n\ntwo\n\nthree',
  );
  t.not(
    (await meaning({ messages: [user('a'), user('b')] }))?.scope,
    (await meaning({ messages: [user('a')] }))?.scope,
  );
  t.not(
    (await meaning({ messages: [{ ...user('a'), name: 'x' }] }))?.scope,
    (await meaning({ messages: [user('a')] }))?.scope,
  );
});

test('what is not text, too many messages or too long is not compared', async (t) => {
  for (const body of [
    {},
    [],
    'text',
    { messages: [] },
    { messages: 'x' },
    { messages: [null] },
    { messages: [user('')] },
    { messages: [user(null)] },
    { messages: [user([{ type: 'image_url', image_url: { url: 'x' } }])] },
    { messages: [user([{ type: 'text', text: 'x' }, { type: 'image_url' }])] },
    { messages: [user('x'), { role: 'assistant', content: 'y' }] },
    { messages: [user('x'), { role: 'tool', content: 'y' }] },
    { messages: Array.from({ length: 5 }, () => user('x')) },
    { messages: [user('x'.repeat(24 * 1024 + 1))] },
    { prompt: ['a', 'b'] },
    { prompt: [1, 2] },
    { input: 'x' },
  ])
    t.is(await meaning(body), undefined, JSON.stringify(body).slice(0, 80));
});

test('messages before the last are in the scope one by one', async (t) => {
  const message = fc.record({
    role: fc.constantFrom('system', 'assistant', 'user'),
    content: fc.string({ maxLength: 6, unit: 'binary-ascii' }),
  });
  const messages = fc.array(message, { maxLength: 14 });
  await fc.assert(
    fc.asyncProperty(messages, messages, async (a, b) => {
      const scope = async (before: object[]) =>
        (await meaning({ messages: [...before, { role: 'assistant', content: '"],[{' }, user('x')] }))?.scope;
      t.is((await scope(a)) === (await scope(b)), JSON.stringify(a) === JSON.stringify(b));
    }),
    { numRuns: 300 },
  );
});

test('addresses, links and numbers are found word by word as in the whole text', (t) => {
  const whole = /https?:\/\/\S+|\S+@\S+|[+-]?\d[\d.,:/-]*/g;
  const piece = fc.constantFrom(
    '@',
    'a',
    'http://',
    'https://',
    '1',
    '-',
    '+',
    '.',
    ' ',
    '\n',
    '\u00a0',
    '2:3',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      t.deepEqual(literalsOf(text), text.match(whole) ?? []);
    }),
    { numRuns: 2000 },
  );
});

test('SEMANTIC MISS, then SEMANTIC HIT for what means the same, HIT for the same, MISS beyond the threshold', async (t) => {
  const cache = build();
  const embedder = counting();
  const say = async (text: string, settings = SEMANTIC) => {
    const asked = ask(subject({ messages: [user(text)] }, 'o'), settings, { embedder });
    const answer = await cache.whole(asked.call, TEXT, async () => `answer to ${text}`);
    return { answer, ...asked.report() };
  };
  t.like(await say('what is love'), { status: 'SEMANTIC MISS', answer: 'answer to what is love' });
  await soon();
  const hit = await say('love is what');
  t.like(hit, { status: 'SEMANTIC HIT', answer: 'answer to what is love' });
  t.true((hit.similarity ?? 0) > 0.99);
  const before = embedder.calls;
  t.like(await say('what is love'), { status: 'HIT' });
  t.is(embedder.calls, before, 'the same request needs no vector');
  const miss = await say('zzz qqq xxx');
  t.is(miss.status, 'SEMANTIC MISS');
  t.true((miss.similarity ?? 1) < 0.9);
  t.like(await say('love 1 is what'), { status: 'SEMANTIC MISS' }, 'another number');
  t.like(await say('is love what', SIMPLE), { status: 'MISS' }, 'simple mode compares nothing');
  const other = ask(subject({ messages: [user('love is what')] }, 'p'), SEMANTIC, { embedder });
  await cache.whole(other.call, TEXT, async () => 'own');
  t.is(other.report().status, 'SEMANTIC MISS', 'another tenant');
});

test('a stream finds what means the same and was kept whole, and a whole call leaves streams in place', async (t) => {
  const cache = build();
  const embedder = counting();
  const about = (text: string, org: string) => subject({ messages: [user(text)] }, org);
  await cache.whole(ask(about('abc', 'o'), SEMANTIC, { embedder }).call, TEXT, async () => 'one two');
  const streamed = ask(about('cba', 'o'), SEMANTIC, { embedder });
  t.deepEqual(await read(await cache.stream(streamed.call, PIECES, async () => pieces(['none']))), [
    'one',
    'two',
  ]);
  t.is(streamed.report().status, 'SEMANTIC HIT');
  const first = ask(about('abc', 'p'), SEMANTIC, { embedder });
  await read(await cache.stream(first.call, PIECES, async () => pieces(['x', 'y'])));
  const whole = ask(about('cba', 'p'), SEMANTIC, { embedder });
  t.is(await cache.whole(whole.call, { ...TEXT, keeps: () => false }, async () => 'own'), 'own');
  const second = ask(about('bca', 'p'), SEMANTIC, { embedder });
  t.deepEqual(await read(await cache.stream(second.call, PIECES, async () => pieces(['none']))), ['x', 'y']);
});

test('embeddings that fail, hang, or are no vectors are a MISS, and the call is not held up', async (t) => {
  for (const embed of [
    async () => undefined,
    async () => {
      throw new Error('unreachable');
    },
    () => {
      throw new Error('at once');
    },
    () => new Promise<undefined>(() => undefined),
    async () => new Float32Array(3),
    async () => Float32Array.of(Number.NaN, 1),
    async () => [1, 2] as unknown as Float32Array,
  ]) {
    const asked = ask(subject({ messages: [user('x')] }, 'o'), SEMANTIC, { embedder: counting(embed) });
    const began = performance.now();
    t.is(await build(50).whole(asked.call, TEXT, async () => 'answer'), 'answer');
    t.true(performance.now() - began < withSlack(4000));
    t.like(asked.report(), { status: 'MISS', reason: 'the embeddings did not come' });
  }
  const none = ask(subject({ messages: [user('x')] }, 'o'), SEMANTIC);
  await build().whole(none.call, TEXT, async () => 'answer');
  t.like(none.report(), { status: 'MISS', reason: 'no embeddings target is set' });
});

test('a caller that leaves while the vector is made is free at once, and the making is aborted', async (t) => {
  const cache = build(5000);
  let aborted = false;
  const embedder = counting((_, signal) => {
    signal.addEventListener('abort', () => {
      aborted = true;
    });
    return new Promise(() => undefined);
  });
  const asked = ask(subject({ messages: [user('x')] }, 'o'), SEMANTIC, { embedder });
  const waiting = cache.whole(asked.call, TEXT, async () => 'answer');
  await soon();
  const next = ask(subject({ messages: [user('x')] }, 'o'), SEMANTIC, { embedder: counting() });
  const following = cache.whole(next.call, TEXT, async () => 'answer');
  asked.aborter.abort(new Error('left'));
  await t.throwsAsync(waiting, { message: 'left' });
  t.true(aborted);
  t.is(await following, 'answer');
});

test('200 identical semantic misses make one vector and one call', async (t) => {
  const cache = build();
  const embedder = counting();
  let runs = 0;
  const asks = Array.from({ length: 200 }, () =>
    ask(subject({ messages: [user('x')] }, 'o'), SEMANTIC, { embedder }),
  );
  await Promise.all(
    asks.map(({ call }) =>
      cache.whole(call, TEXT, async () => {
        runs++;
        await soon();
        return 'answer';
      }),
    ),
  );
  t.is(runs, 1);
  t.is(embedder.calls, 1);
});

test('a shadow reports what it would have answered, answers nothing and delays nothing', async (t) => {
  const cache = build(5000);
  const shadow = { ...SEMANTIC, shadow: true };
  const embedder = counting();
  const say = async (text: string, run = async () => `answer to ${text}`, own: Embedder = embedder) => {
    const asked = ask(subject({ messages: [user(text)] }, 'o'), shadow, { embedder: own });
    const answer = await cache.whole(asked.call, TEXT, run);
    await soon();
    return { answer, ...asked.report() };
  };
  t.like(await say('what is love'), { status: 'MISS', shadow: undefined });
  const second = await say('love is what', async () => {
    await soon(20);
    return 'its own';
  });
  t.like(second, { status: 'MISS', answer: 'its own' });
  const { shadow: seen } = second;
  t.is(seen?.record.form === 'whole' && Buffer.from(seen.record.body).toString(), 'answer to what is love');
  t.regex(shadowHeader(second) ?? '', /^hit; similarity=1\.0000; age=0$/);
  const began = performance.now();
  const slow = counting(() => new Promise(() => undefined));
  t.like(await say('is love what', async () => 'quick', slow), { status: 'MISS', answer: 'quick' });
  t.true(performance.now() - began < withSlack(4000));
});

test('a refresh forgets what meant the same', async (t) => {
  const cache = build();
  const embedder = counting();
  const say = async (text: string, settings: CacheSettings, answer: string) => {
    const asked = ask(subject({ messages: [user(text)] }, 'o'), settings, { embedder });
    const got = await cache.whole(asked.call, TEXT, async () => answer);
    await soon();
    return `${asked.report().status} ${got}`;
  };
  t.is(await say('abc', SEMANTIC, 'old'), 'SEMANTIC MISS old');
  t.is(await say('cba', { ...SEMANTIC, forceRefresh: true }, 'new'), 'REFRESH new');
  t.is(await say('bca', SEMANTIC, 'none'), 'SEMANTIC HIT new');
});

test('vectors: exact cosine, bounded bytes and number, time, dimensions', (t) => {
  let now = 0;
  const vectors = createLocalVectors({ maxBytes: 2_000_000, now: () => now });
  const near = (values: number[], scope = 's') =>
    vectors.near('o', scope, Float32Array.from(values), 4) as { id: string; similarity: number }[];
  vectors.add('o', 's', { id: 'a', vector: Float32Array.of(2, 0), ttlMs: 100 });
  vectors.add('o', 's', { id: 'b', vector: Float32Array.of(3, 4), ttlMs: 200 });
  vectors.add('o', 's', { id: 'c', vector: Float32Array.of(1, 1, 1), ttlMs: 200 });
  vectors.add('o', 's', { id: 'd', vector: Float32Array.of(0, 0), ttlMs: 200 });
  t.deepEqual(
    near([5, 0]).map(({ id, similarity }) => [id, Math.round(similarity * 1e6) / 1e6]),
    [
      ['a', 1],
      ['b', 0.6],
    ],
  );
  t.deepEqual(vectors.near('p', 's', Float32Array.of(1, 0), 4), []);
  now = 150;
  t.deepEqual(
    near([5, 0]).map(({ id }) => id),
    ['b'],
  );
  vectors.remove('o', 's', 'b');
  vectors.remove('o', 's', 'c');
  t.is(vectors.bytes, 0);
  for (let i = 0; i < SCOPE_VECTORS + 50; i++)
    vectors.add('o', 's', { id: `v${i}`, vector: Float32Array.of(i + 1, 1), ttlMs: 100 });
  t.is(
    near([1, 1]).some(({ id }) => id === 'v0'),
    false,
    'the oldest went',
  );
  for (let i = 0; i < 10_000; i++)
    vectors.add('o', `s${i}`, { id: 'x', vector: new Float32Array(100).fill(1), ttlMs: 100 });
  t.true(vectors.bytes <= 2_000_000);
  t.is(unitVector(Float32Array.of(Number.POSITIVE_INFINITY)), undefined);
});

test('a look over a full scope of usual vectors finds the one that is asked for, and the nearest first', async (t) => {
  const vectors = createLocalVectors({ maxBytes: 1e8 });
  const random = (): Float32Array => Float32Array.from({ length: 1536 }, () => Math.random() - 0.5);
  const all = Array.from({ length: SCOPE_VECTORS }, random);
  for (const [i, vector] of all.entries()) vectors.add('o', 's', { id: `${i}`, vector, ttlMs: 1e6 });
  for (const i of [0, 77, SCOPE_VECTORS - 1]) {
    const found = await vectors.near('o', 's', all[i]!, 4);
    t.is(found.length, 4);
    t.is(found[0]?.id, `${i}`);
    const scores = found.map(({ similarity }) => similarity);
    t.deepEqual(
      scores,
      scores.toSorted((a, b) => b - a),
    );
  }
});
