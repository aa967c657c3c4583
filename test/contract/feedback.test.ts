// Feedback through the front door: one, many, changed, and where it is seen.
import { randomUUID } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { FeedbackService } from '../../gen/gateway/admin/v2/feedback_pb.ts';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { bookEntry, serviceKey } from './logs-books.ts';
import { type Bench, type Case, invalid, type JsonObject, runCases, startBench, UUID } from './runner.ts';
import { storiesOf } from './story.ts';

const { createFeedback, updateFeedback } = FeedbackService.method;
const { listLogs } = LogsService.method;

let bench: Bench;
let key: string;
test.before(async () => {
  bench = await startBench();
  ({ key } = await serviceKey(bench.gateway));
});
test.after.always(() => bench?.close());
const story = storiesOf(() => bench);

/** The trace of a new entry. */
const called = (): string => {
  const entry = bookEntry(bench.gateway);
  bench.gateway.app.requestLog.record(entry);
  return entry.traceId;
};

story('feedback is in the list, weighted, and filters by it', async (t, admin) => {
  const user = admin.as(key);
  const traceId = called();
  const made = await user.ok(createFeedback, {
    trace_id: traceId,
    value: 10,
    weight: 0.5,
    metadata: { by: 'ann', n: 1 },
  });
  t.is(made.status, 'success');
  const [id] = made.feedback_ids as string[];
  t.regex(id!, UUID);
  const entry = async (more: JsonObject = {}): Promise<JsonObject | undefined> =>
    ((await admin.ok(listLogs, { trace_id: traceId, ...more })).data as JsonObject[])[0];
  t.like((await entry())!, {
    weighted_feedback: 5,
    feedback: [{ id, value: 10, weight: 0.5, metadata: { by: 'ann', n: '1' } }],
  });
  await user.ok(createFeedback, { trace_id: traceId, value: -5 });
  t.like((await entry())!, { weighted_feedback: 0 });
  t.truthy(await entry({ weighted_feedback_min: 0, weighted_feedback_max: 0 }));
  t.is(await entry({ weighted_feedback_min: 0.1 }), undefined);

  const changed = await user.ok(updateFeedback, { id: id!, value: 8, feedback_id: id! });
  t.deepEqual(changed.feedback_ids, [id]);
  t.like((await entry())!, { weighted_feedback: -0.5 });
  await user.ok(updateFeedback, { id: id!, value: 8, weight: 0, metadata: { c: 'd' } });
  const after = (await entry())!;
  t.is(after.weighted_feedback, -2.5);
  t.deepEqual((after.feedback as JsonObject[])[0]!.metadata, { c: 'd' });
  const fresh = called();
  t.deepEqual(((await admin.ok(listLogs, { trace_id: fresh })).data as JsonObject[])[0]!.feedback, []);
});

story('a list keeps its order; a trace may be unknown', async (t, admin) => {
  const user = admin.as(key);
  const traces = [called(), randomUUID(), called()];
  const list = traces.map((trace_id, i) => ({ trace_id, value: i })) as unknown as JsonObject;
  const { feedback_ids: ids } = await user.ok(createFeedback, list);
  t.is((ids as string[]).length, 3);
  const { data } = await admin.ok(listLogs, { trace_id: traces[2]! });
  t.like((data as JsonObject[])[0]!, { feedback: [{ id: (ids as string[])[2], value: 2 }] });
});

test('a list as an object with numbers for names, in camelCase', async (t) => {
  const traces = Array.from({ length: 11 }, () => called());
  const body = Object.fromEntries(
    traces.map((traceID, i) => [String(i), { traceID, value: i - 5, weight: 1 }]),
  );
  const answer = await fetch(`${bench.gateway.origin}/v1/feedback`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { feedback_ids: ids } = (await answer.json()) as { feedback_ids: string[] };
  t.is(ids.length, 11);
  const list = await fetch(`${bench.gateway.origin}/v1/logs?trace_id=${traces[10]}`, {
    headers: { 'x-gateway-api-key': key },
  });
  const { data } = (await list.json()) as { data: JsonObject[] };
  t.like(data[0]!, { feedback: [{ id: ids[10], value: 5 }] });
});

const refused = (name: string, body: unknown, param: string, over?: Case['over']): Case => ({
  name: `feedback is refused: ${name}`,
  method: createFeedback,
  body: body as JsonObject,
  refused: invalid(param),
  ...(over ? { over } : {}),
});
runCases(
  test,
  () => bench,
  [
    refused('no trace', { value: 1 }, 'trace_id'),
    refused('no value', { trace_id: 't' }, 'value'),
    refused('a value out of range', { trace_id: 't', value: 11 }, 'value'),
    refused('a broken value', { trace_id: 't', value: 1.5 }, 'value', ['rest']),
    refused('a weight out of range', { trace_id: 't', value: 1, weight: 1.1 }, 'weight'),
    refused('a trace that is none', { trace_id: 'a b', value: 1 }, 'trace_id'),
    refused('metadata that is no object', { trace_id: 't', value: 1, metadata: 'x' }, 'metadata', ['rest']),
    refused('a member that is unknown', { trace_id: 't', value: 1, score: 1 }, 'score'),
    refused(
      'one of many',
      [
        { trace_id: 't', value: 1 },
        { trace_id: 't', value: -11 },
      ],
      '[1].value',
    ),
    refused('one of many by number', { 0: { traceID: 't', value: 1 }, 1: { value: 1 } }, '1.trace_id', [
      'rest',
    ]),
    refused('nothing', [], '', ['connect', 'grpc']),
    {
      name: 'unknown feedback is not changed',
      method: updateFeedback,
      body: { id: randomUUID(), value: 1 },
      refused: { status: 404, code: Code.NotFound, reason: 'not_found' } as const,
    },
    {
      name: 'feedback is changed to a value',
      method: updateFeedback,
      body: { id: 'x' },
      refused: invalid('value'),
    },
    {
      name: 'an admin key gives no feedback',
      method: createFeedback,
      body: { trace_id: 't', value: 1 },
      headers: { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined },
      refused: { status: 403, code: Code.PermissionDenied, reason: 'forbidden' } as const,
    },
  ].map(
    (one): Case => ({ headers: { 'x-gateway-api-key': WORKSPACE_KEY, authorization: undefined }, ...one }),
  ),
);
