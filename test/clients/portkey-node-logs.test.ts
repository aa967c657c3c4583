// The published npm SDK against the gateway: logs, feedback and exports, every method of them.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { type Stage, startStage } from './portkey/clients.ts';
import { plain, promised, Watched } from './portkey/watched.ts';

let stage: Stage;
let watched: Watched;
test.before(async () => {
  stage = await startStage();
  watched = new Watched(stage.exchanges);
});
test.after.always(() => stage?.close());

type Json = Record<string, unknown>;
const statusOf = (error: Error | undefined): unknown => (error as { status?: number } | undefined)?.status;
const called = (n: number) => ({
  request: { url: 'https://api.openai.com/v1/chat/completions', body: { model: 'gpt-4o', n } },
  response: {
    status: 200,
    responseTime: 12,
    body: { usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 } },
  },
  metadata: { traceId: 'sdk-trace', spanId: `s${n}`, spanName: 'step', user: 'ann' },
});

test.serial('logs and feedback', async (t) => {
  const { logs, feedback } = stage.workspace;
  t.like(await watched.call(t, 'logs.create', () => logs.create(called(1))), { status: 'success' });
  // As the SDK's documentation writes a call: members that say nothing are there.
  const { request, response, metadata } = called(2);
  await logs.create({
    request: { ...request, method: 'POST', headers: {}, provider: null as never },
    response: { ...response, headers: {}, streamingMode: null, response_time: null } as never,
    metadata,
  });
  const list = async (): Promise<Json[]> =>
    (await stage.workspace.get('/logs?trace_id=sdk-trace&order=asc')).data as Json[];
  t.deepEqual(
    (await list()).map(({ inserted, provider, cost, metadata, span_id, latency_ms }) => [
      ...[inserted, provider, cost, metadata, span_id, latency_ms],
    ]),
    [1, 2].map((n) => [true, 'openai', 0.35, { _user: 'ann' }, `s${n}`, 12]),
  );

  const one = await watched.call(t, 'feedback.create', () =>
    feedback.create({ traceID: 'sdk-trace', value: 5, weight: 0.5, metadata: { a: 'b' } }),
  );
  // On the wire of the product the member is feedback_ids.
  promised(t, 'feedback.FeedbackResponse', one, ['feedback_id']);
  const { feedback_ids: ids } = plain(one) as { feedback_ids: string[] };
  t.is(ids.length, 1);
  const many = plain(
    await feedback.create([
      { traceID: 'sdk-trace', value: 1 },
      { traceID: 'other', value: -1, weight: 1 },
    ]),
  );
  t.is((many.feedback_ids as string[]).length, 2);
  await watched.call(t, 'feedback.update', () =>
    feedback.update({ feedbackID: ids[0] as string, value: 9, weight: 1 }),
  );
  const [entry] = await list();
  t.is(entry?.weighted_feedback, 5);
  t.is(statusOf(await t.throwsAsync(async () => feedback.create({ traceID: 'x', value: 11 }))), 400);
  t.is(statusOf(await t.throwsAsync(async () => logs.create({ request: {}, response: {} }))), 400);
  t.deepEqual(watched.missed('logs', logs), []);
  t.deepEqual(watched.missed('feedback', feedback), []);
});

test.serial('exports', async (t) => {
  const { exports } = stage.admin.logs;
  const { workspaceId } = stage;
  const made = await watched.call(t, 'exports.create', () =>
    exports.create({
      workspaceId,
      description: 'd',
      requestedData: ['id', 'cost', 'metadata'],
      filters: { trace_id: 'sdk-trace', time_of_generation_min: '2026-01-01T00:00:00.000Z' },
    }),
  );
  promised(t, 'logsExport.LogsExportCreateResponse', made);
  const exportId = String(made.id);
  const list = await watched.call(t, 'exports.list', () => exports.list({ workspaceId }));
  promised(t, 'logsExport.LogsExportListResponse', list);
  const changed = await watched.call(t, 'exports.update', () =>
    exports.update({
      exportId,
      workspaceId,
      filters: { trace_id: 'sdk-trace' },
      requestedData: ['id', 'cost'],
    }),
  );
  promised(t, 'logsExport.LogsExportUpdateResponse', changed);
  t.is(statusOf(await t.throwsAsync(async () => exports.cancel({ exportId }))), 409);
  const started = await watched.call(t, 'exports.start', () => exports.start({ exportId }));
  promised(t, 'logsExport.LogsExportStartResponse', started);
  await watched.call(t, 'exports.retrieve', () => exports.retrieve({ exportId }));
  const record = await eventually('the end of the export', async () => {
    const found = await exports.retrieve({ exportId });
    return found.status !== 'in_progress' && found;
  });
  promised(t, 'logsExport.LogsExportRetrieveResponse', record);
  t.like(record, {
    status: 'success',
    total_records: 2,
    workspace_id: workspaceId,
    requested_data: ['id', 'cost'],
  });
  const file = await watched.call(t, 'exports.download', () => exports.download({ exportId }));
  promised(t, 'logsExport.LogsExportDownloadResponse', file);
  const lines = (await (await fetch(String(file.signed_url))).text()).trim().split('\n');
  t.deepEqual(
    lines.map((line) => (JSON.parse(line) as Json).cost),
    [0.35, 0.35],
  );
  // One that runs is cancelled, one that is done by then is not.
  await exports.update({ exportId, filters: {}, requestedData: ['id'] });
  await exports.start({ exportId });
  const cancelled = await Promise.resolve(exports.cancel({ exportId })).catch((error: Error) =>
    statusOf(error),
  );
  t.true(cancelled === 409 || (cancelled as Json).object === 'export');
  t.deepEqual(watched.missed('exports', exports), ['exports.cancel']);
});
