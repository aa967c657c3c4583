// What the response cache promises, over any store.
import type { TestFn } from 'ava';
import type { AnswerStore } from '../../../src/inference/cache/answers.ts';
import { createLocalVectors } from '../../../src/inference/cache/local-vectors.ts';
import {
  createResponseCache,
  type ResponseCache,
  type ResponseCacheOptions,
} from '../../../src/inference/cache/response-cache.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, PIECES, pieces, read, SIMPLE, soon, subject, TEXT } from './subject.ts';

export interface ContractStore {
  /** A store of its own view of what all of them share, or of the one that there is. */
  readonly open: () => AnswerStore;
  readonly freshOrg: () => string;
  /** Whether several instances share what is kept. */
  readonly shared: boolean;
}

export function responseCacheContract(test: TestFn, store: ContractStore): void {
  const { freshOrg } = store;
  const build = (options: Partial<ResponseCacheOptions> = {}): ResponseCache =>
    createResponseCache({
      answers: store.open(),
      vectors: createLocalVectors({ maxBytes: 1e6 }),
      maxAnswerBytes: 1000,
      waitMs: 5000,
      ...options,
    });
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
  /** Counts its runs. */
  const counted = (answer: string | Error) => {
    const run = async (): Promise<string> => {
      run.count++;
      await soon();
      if (typeof answer === 'string') return answer;
      throw answer;
    };
    run.count = 0;
    return run;
  };

  test('MISS, then HIT with its age and note; another body is a MISS', async (t) => {
    const cache = build();
    const org = freshOrg();
    const run = counted('answer');
    const first = ask(subject(body, org), SIMPLE, { answerNote: () => ({ model: 'm-1' }) });
    t.is(await cache.whole(first.call, TEXT, run), 'answer');
    t.is(first.report().status, 'MISS');
    // An answer is stored after it went out.
    await eventually('an age', async () => ((await cache.peek(first.call, TEXT)).ageMs ?? -1) >= 10);
    const second = ask(subject(body, org), SIMPLE);
    t.is(await cache.whole(second.call, TEXT, run), 'answer');
    t.like(second.report(), { status: 'HIT', key: first.report().key, note: { model: 'm-1' } });
    t.true((second.report().ageMs ?? -1) >= 10);
    t.is(run.count, 1);
    t.like(await cache.peek(second.call, TEXT), { status: 'HIT', key: first.report().key });
    const other = ask(subject({ ...body, seed: 1 }, org), SIMPLE);
    t.is((await cache.peek(other.call, TEXT)).status, 'MISS');
    await cache.whole(other.call, TEXT, run);
    t.is(other.report().status, 'MISS');
    t.is(run.count, 2);
  });

  test('no settings: DISABLED, and the key is not even made', async (t) => {
    const run = counted('answer');
    const reports: string[] = [];
    const call = {
      ...ask(subject(body, freshOrg()), undefined, { note: ({ status }) => reports.push(status) }).call,
      subject: () => t.fail() as never,
    };
    t.is(await build().whole(call, TEXT, run), 'answer');
    t.deepEqual(reports, ['DISABLED']);
  });

  test('a refresh goes upstream and replaces the answer in every form', async (t) => {
    const cache = build();
    const org = freshOrg();
    await cache.whole(ask(subject(body, org), SIMPLE).call, TEXT, counted('old'));
    await read(
      await cache.stream(
        ask(subject(body, org), SIMPLE).call,
        { ...PIECES, fromWhole: undefined! },
        async () => pieces(['old']),
      ),
    );
    const again = ask(subject(body, org), { ...SIMPLE, forceRefresh: true });
    t.is((await cache.peek(again.call, TEXT)).status, 'REFRESH');
    t.is(await cache.whole(again.call, TEXT, counted('new')), 'new');
    t.is(again.report().status, 'REFRESH');
    await soon(20);
    const after = ask(subject(body, org), SIMPLE);
    t.is(await cache.whole(after.call, TEXT, counted('none')), 'new');
    t.is(after.report().status, 'HIT');
    const streamed = ask(subject(body, org), SIMPLE);
    t.deepEqual(await read(await cache.stream(streamed.call, PIECES, async () => pieces(['none']))), ['new']);
  });

  test('an answer that a refresh overtook is given but not kept', async (t) => {
    const cache = build();
    const org = freshOrg();
    const started = Promise.withResolvers<(answer: string) => void>();
    const slow = cache.whole(
      ask(subject(body, org), SIMPLE).call,
      TEXT,
      () => new Promise((resolve) => started.resolve(resolve)),
    );
    const finish = await started.promise;
    const run = counted('new');
    t.is(
      await cache.whole(ask(subject(body, org), { ...SIMPLE, forceRefresh: true }).call, TEXT, run),
      'new',
    );
    finish('old');
    t.is(await slow, 'old');
    await soon(20);
    t.is(await cache.whole(ask(subject(body, org), SIMPLE).call, TEXT, run), 'new');
    t.is(run.count, 1);
  });

  test('answers older than the call allows are not given', async (t) => {
    const cache = build();
    const org = freshOrg();
    await cache.whole(ask(subject(body, org), SIMPLE).call, TEXT, counted('old'));
    await soon(1100);
    const young = ask(subject(body, org), { ...SIMPLE, maxAgeSeconds: 1 });
    t.is(await cache.whole(young.call, TEXT, counted('new')), 'new');
    t.is(young.report().status, 'MISS');
  });

  test('failures are not kept and go to their own caller; what is too long or not wanted is given and not kept', async (t) => {
    const cache = build();
    const org = freshOrg();
    await t.throwsAsync(cache.whole(ask(subject(body, org), SIMPLE).call, TEXT, counted(new Error('429'))), {
      message: '429',
    });
    const long = 'x'.repeat(1001);
    t.is(await cache.whole(ask(subject(body, org), SIMPLE).call, TEXT, counted(long)), long);
    t.is(
      await cache.whole(
        ask(subject(body, org), SIMPLE).call,
        { ...TEXT, keeps: () => false },
        counted('unwanted'),
      ),
      'unwanted',
    );
    const unwritable = {
      ...TEXT,
      encode: () => {
        throw new Error('no text');
      },
    };
    t.is(await cache.whole(ask(subject(body, org), SIMPLE).call, unwritable, counted('odd')), 'odd');
    const last = ask(subject(body, org), SIMPLE);
    t.is(await cache.whole(last.call, TEXT, counted('good')), 'good');
    t.is(last.report().status, 'MISS');
  });

  test('tenants, workspaces, metadata and namespaces are apart', async (t) => {
    const cache = build();
    const [org, other] = [freshOrg(), freshOrg()];
    const run = counted('mine');
    const asks = [
      ask(subject(body, org), SIMPLE),
      ask(subject(body, other), SIMPLE),
      ask(subject(body, org, { workspaceId: 'v' }), SIMPLE),
      ask(subject(body, org, { metadata: { user: 'a' } }), SIMPLE),
      ask(subject(body, org), { ...SIMPLE, namespace: 'n' }),
    ];
    for (const { call } of asks) await cache.whole(call, TEXT, run);
    t.is(run.count, asks.length);
    const named = ask(subject(body, org, { metadata: { user: 'b' } }), { ...SIMPLE, namespace: 'n' });
    await cache.whole(named.call, TEXT, run);
    t.is(named.report().status, 'HIT');
  });

  test('200 identical concurrent misses make one call', async (t) => {
    const caches = store.shared ? [build(), build()] : [build()];
    const org = freshOrg();
    const run = counted('answer');
    const asks = Array.from({ length: 200 }, () => ask(subject(body, org), SIMPLE));
    const answers = await Promise.all(
      asks.map(({ call }, i) => caches[i % caches.length]!.whole(call, TEXT, run)),
    );
    t.is(run.count, 1);
    t.true(answers.every((answer) => answer === 'answer'));
    t.is(asks.filter(({ report }) => report().status === 'HIT').length, 199);
  });

  test('200 identical concurrent streams make one call, and all get it whole', async (t) => {
    const caches = store.shared ? [build(), build()] : [build()];
    const org = freshOrg();
    let runs = 0;
    const run = async () => {
      runs++;
      await soon();
      return pieces(['a', 'b', 'c']);
    };
    const asks = Array.from({ length: 200 }, () => ask(subject(body, org), SIMPLE));
    const answers = await Promise.all(
      asks.map(async ({ call }, i) => read(await caches[i % caches.length]!.stream(call, PIECES, run))),
    );
    t.is(runs, 1);
    t.true(answers.every((answer) => answer.join() === 'a,b,c'));
  });

  test("a leader's failure goes to nobody else: one waiter runs then", async (t) => {
    const cache = build();
    const org = freshOrg();
    let runs = 0;
    const run = async (): Promise<string> => {
      runs++;
      await soon();
      if (runs === 1) throw new Error('429 for the first');
      return 'answer';
    };
    const asks = Array.from({ length: 50 }, () => ask(subject(body, org), SIMPLE));
    const answers = await Promise.allSettled(asks.map(({ call }) => cache.whole(call, TEXT, run)));
    t.is(runs, 2);
    t.is(answers.filter(({ status }) => status === 'rejected').length, 1);
    t.is(answers.filter((answer) => answer.status === 'fulfilled' && answer.value === 'answer').length, 49);
  });

  test('a leader that leaves frees the others, a waiter that leaves is free at once', async (t) => {
    const cache = build();
    const org = freshOrg();
    const first = ask(subject(body, org), SIMPLE);
    const leading = cache.whole(
      first.call,
      TEXT,
      () =>
        new Promise((_, reject) =>
          first.call.signal.addEventListener('abort', () => reject(first.aborter.reason)),
        ),
    );
    await soon(20);
    const [left, staying] = [ask(subject(body, org), SIMPLE), ask(subject(body, org), SIMPLE)];
    const leaving = cache.whole(left.call, TEXT, counted('never'));
    const run = counted('answer');
    const waiting = cache.whole(staying.call, TEXT, run);
    await soon(20);
    left.aborter.abort(new Error('the waiter left'));
    await t.throwsAsync(leaving, { message: 'the waiter left' });
    first.aborter.abort(new Error('the leader left'));
    await t.throwsAsync(leading, { message: 'the leader left' });
    t.is(await waiting, 'answer');
    t.is(run.count, 1);
  });

  test('streams: the same pieces in their order, and only whole ones are kept', async (t) => {
    const cache = build();
    const org = freshOrg();
    const stream = (run: () => AsyncIterable<string>, more = {}) => {
      const asked = ask(subject({ ...body, stream: true }, org), SIMPLE, more);
      return { asked, answer: cache.stream(asked.call, PIECES, async () => run()) };
    };
    const broken = await stream(() => pieces(['a', 'b'], new Error('cut'))).answer;
    await t.throwsAsync(read(broken), { message: 'cut' });
    let closed = 0;
    const endless = async function* () {
      try {
        for (;;) yield 'a';
      } finally {
        closed++;
      }
    };
    for await (const piece of await stream(endless).answer) {
      t.is(piece, 'a');
      break;
    }
    t.is(closed, 1, "the reader's leaving closes the source");
    t.deepEqual(await read(await stream(() => pieces([])).answer), []);
    const unwanted = ask(subject(body, org), SIMPLE);
    const picky = { ...PIECES, keeps: () => false };
    t.deepEqual(await read(await cache.stream(unwanted.call, picky, async () => pieces(['unwanted']))), [
      'unwanted',
    ]);
    const long = Array.from({ length: 11 }, () => 'x'.repeat(100));
    t.deepEqual(await read(await stream(() => pieces(long)).answer), long);
    await t.throwsAsync(
      stream(() => {
        throw new Error('refused');
      }).answer,
      { message: 'refused' },
    );
    const list = ['a', 'b\n', '', 'é', 'c'];
    t.deepEqual(await read(await stream(() => pieces(list)).answer), list);
    await soon(20);
    const again = stream(() => pieces(['other']));
    t.deepEqual(await read(await again.answer), list);
    t.is(again.asked.report().status, 'HIT');
    const wanting = ask(subject(body, org), SIMPLE);
    const usage = { ...PIECES, usage: true };
    t.deepEqual(await read(await cache.stream(wanting.call, usage, async () => pieces(['with usage']))), [
      'with usage',
    ]);
  });

  test('a stream finds what was kept whole; a whole call does not take a stream', async (t) => {
    const cache = build();
    const [org, other] = [freshOrg(), freshOrg()];
    await cache.whole(ask(subject(body, org), SIMPLE).call, TEXT, counted('one two'));
    const streamed = ask(subject({ ...body, stream: true }, org), SIMPLE);
    t.deepEqual(await read(await cache.stream(streamed.call, PIECES, async () => pieces(['none']))), [
      'one',
      'two',
    ]);
    t.is(streamed.report().status, 'HIT');
    await read(await cache.stream(ask(subject(body, other), SIMPLE).call, PIECES, async () => pieces(['a'])));
    await soon(20);
    t.is(await cache.whole(ask(subject(body, other), SIMPLE).call, TEXT, counted('whole')), 'whole');
  });

  test('bytes that are no record are a miss', async (t) => {
    const answers = store.open();
    const cache = build({ answers });
    const org = freshOrg();
    const asked = ask(subject(body, org), SIMPLE);
    const { key } = await cache.peek(asked.call, TEXT);
    for (const bytes of ['', 'x', '\0\0\0\u0002{}', '\0\0\0\u0001', '\u00ff\u00ff\u00ff\u00ff']) {
      await answers.write(org, `${key}:whole`, Buffer.from(bytes, 'latin1'), 1000);
      const again = ask(subject(body, org), SIMPLE);
      const unkept = { ...TEXT, keeps: () => false };
      t.is(await cache.whole(again.call, unkept, counted('new')), 'new', JSON.stringify(bytes));
      t.is(again.report().status, 'MISS');
    }
  });
}
