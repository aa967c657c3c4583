// Random calls at one cache: whatever fails, leaves or is refreshed, every call ends, nobody gets an answer of
// another key, and nobody another's error. SLUICE_PROPERTY_RUNS sets how often (60 by default).
import test from 'ava';
import fc from 'fast-check';
import { createLocalAnswers } from '../../../src/inference/cache/local-answers.ts';
import { createLocalVectors } from '../../../src/inference/cache/local-vectors.ts';
import { createResponseCache } from '../../../src/inference/cache/response-cache.ts';
import { ask, PIECES, read, SIMPLE, soon, subject, TEXT } from './subject.ts';

const RUNS = Number(process.env.SLUICE_PROPERTY_RUNS ?? 60);

const call = fc.record({
  key: fc.constantFrom('a', 'b'),
  at: fc.integer({ min: 0, max: 6 }),
  takes: fc.integer({ min: 0, max: 4 }),
  streamed: fc.boolean(),
  refresh: fc.nat(9).map((n) => n === 0),
  outcome: fc.constantFrom('good', 'good', 'fails', 'breaks'),
  leavesAt: fc.option(fc.integer({ min: 0, max: 8 }), { nil: undefined }),
});

test('every call ends, with an answer of its own key or an error of its own', async (t) => {
  const seen: Record<string, number> = {};
  await t.notThrowsAsync(
    fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 24 }), async (calls) => {
        const answers = createLocalAnswers({ maxBytes: 1e6 });
        const cache = createResponseCache({
          answers,
          vectors: createLocalVectors({ maxBytes: 1e6 }),
          waitMs: 2000,
        });
        const complete = new Set<string>();
        const ends = calls.map(async ({ key, at, takes, streamed, refresh, outcome, leavesAt }, i) => {
          await soon(at);
          const asked = ask(subject({ key }, 'o'), { ...SIMPLE, forceRefresh: refresh });
          const { signal } = asked.call;
          const leaving =
            leavesAt === undefined
              ? undefined
              : setTimeout(() => asked.aborter.abort(new Error(`left ${i}`)), leavesAt);
          const work = async (): Promise<void> => {
            await soon(takes);
            if (signal.aborted) throw signal.reason;
          };
          const parts = async function* () {
            yield `${key}${i}`;
            await work();
            if (outcome === 'breaks') throw new Error(`own ${i}`);
            complete.add(`${key}${i}`);
            yield 'end';
          };
          const run = async () => {
            await work();
            if (outcome === 'fails') throw new Error(`own ${i}`);
          };
          try {
            const answer = streamed
              ? (
                  await read(
                    await cache.stream(
                      asked.call,
                      { ...PIECES, fromWhole: (body) => [Buffer.from(body).toString(), 'end'] },
                      async () => {
                        await run();
                        return parts();
                      },
                    ),
                  )
                ).join(' ')
              : await cache.whole(asked.call, TEXT, async () => {
                  await run();
                  complete.add(`${key}${i}`);
                  return `${key}${i}`;
                });
            const status = asked.report().status;
            seen[status] = (seen[status] ?? 0) + 1;
            const [made, end] = answer.split(' ');
            if (!made?.startsWith(key)) throw new Error(`call ${i} of ${key} got ${answer}`);
            if (status === 'HIT' && !complete.has(made)) throw new Error(`${made} was never whole`);
            if (streamed && end !== 'end') throw new Error('a stream without its end');
          } catch (error) {
            const { message } = error as Error;
            if (message !== `own ${i}` && message !== `left ${i}`) throw error;
            seen[message.slice(0, 4)] = (seen[message.slice(0, 4)] ?? 0) + 1;
          } finally {
            clearTimeout(leaving);
          }
        });
        const late = soon(1500).then(() => 'late' as const);
        const end = await Promise.race([Promise.all(ends).then(() => 'ended' as const), late]);
        if (end === 'late') throw new Error('a call did not end');
      }),
      { numRuns: RUNS },
    ),
  );
  t.log(seen);
});
