// What asynchronous guardrails came to behind their call, as it is read with the call's entry.
import test from 'ava';
import { withLate } from '../../src/admin/logs/late.ts';
import type { RequestRecord, SpanRecord } from '../../src/call/record.ts';
import { type LateHook, lateHookRecord } from '../../src/ledger/late-hooks.ts';
import { logEntry } from '../store/log-entries.ts';
import { logModel } from '../store/log-model.ts';

const AT = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
const scope = { organisationId: 'o', workspaceId: 'w' };

const span = (name: string, verdict: string, kind: SpanRecord['kind'] = 'guardrail'): SpanRecord => ({
  kind,
  name,
  verdict,
  startedAt: AT,
  latencyMs: 0,
});
const entryOf = (id: string, spans: readonly SpanRecord[]): RequestRecord =>
  logEntry({ id, organisationId: 'o', workspaceId: 'w', createdAt: AT, spans });
const lateOf = (entry: RequestRecord, place: number, more: Partial<LateHook> = {}): LateHook => ({
  entry: { id: entry.id, organisationId: 'o', workspaceId: 'w', createdAt: entry.createdAt },
  place,
  side: 'after',
  verdict: 'failed',
  latencyMs: 42,
  ...more,
});

test('each verdict is put to its own span, of its own entry', async (t) => {
  const store = logModel();
  const first = entryOf('first', [
    span('sync', 'passed'),
    span('same', 'pending'),
    span('same', 'pending'),
    span('simple', 'MISS', 'cache'),
  ]);
  const second = entryOf('second', [span('same', 'pending')]);
  await store.appendBodies([
    lateHookRecord(lateOf(first, 2, { result: { id: 'same', verdict: false } }), 7),
    lateHookRecord(lateOf(second, 0, { verdict: 'passed', latencyMs: 1 }), undefined),
  ]);
  const [one, two] = await withLate(store, scope, [first, second], AT + 1000);
  t.deepEqual(
    one?.entry.spans?.map(({ verdict, latencyMs }) => [verdict, latencyMs]),
    [
      ['passed', 0],
      ['pending', 0],
      ['failed', 42],
      ['MISS', 0],
    ],
  );
  t.deepEqual(one?.late, [
    { side: 'after', verdict: 'failed', latencyMs: 42, result: { id: 'same', verdict: false } },
  ]);
  t.deepEqual(
    two?.entry.spans?.map(({ verdict }) => verdict),
    ['passed'],
  );
  const [elsewhere] = await withLate(store, { ...scope, workspaceId: 'x' }, [second], AT + 1000);
  t.is(elsewhere?.entry.spans?.[0]?.verdict, 'pending', 'of the scope alone');
});

test('one that said nothing for long never will', async (t) => {
  const entry = entryOf('e', [span('lost', 'pending'), span('simple', 'pending', 'cache')]);
  const verdicts = async (now: number) =>
    (await withLate(logModel(), scope, [entry], now))[0]?.entry.spans?.map(({ verdict }) => verdict);
  t.deepEqual(await verdicts(AT + 60_000), ['pending', 'pending']);
  t.deepEqual(await verdicts(AT + HOUR_MS), ['unknown', 'pending']);
});

test('entries without one cost nothing', async (t) => {
  const entries = [entryOf('a', []), logEntry({ id: 'b' }), entryOf('c', [span('g', 'failed')])];
  const never = { bodies: () => Promise.reject(new Error('nobody asked')) };
  const found = await withLate(never, scope, entries, AT);
  t.true(found.every(({ entry, late }, i) => entry === entries[i] && late.length === 0));
});

test('secrets are not kept in it', (t) => {
  const { hooks } = lateHookRecord(
    lateOf(entryOf('e', []), 0, {
      result: { said: 'sk-secret-1 and short' },
      secrets: ['sk-secret-1', 'short'],
    }),
    undefined,
  );
  t.true(hooks?.includes('*** and short'));
});
