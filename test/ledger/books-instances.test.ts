// Two gateways on one MongoDB: calls told to one are read over the other, and an export that one writes the other hands out.
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { serviceKey } from '../contract/logs-books.ts';
import { freshDatabase } from '../store/mongo-database.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, ok } from '../support/front-door.ts';
import { startGateway } from '../support/gateway.ts';
import { mongoServer, reportMissing } from '../support/servers.ts';

const mongo = await mongoServer();
if (mongo === undefined) reportMissing(test, 'MongoDB');
else
  test('logs, feedback, traces and exports over two instances', async (t) => {
    t.timeout(120_000);
    const uri = new URL(mongo.uri);
    uri.pathname = `/${freshDatabase()}`;
    const env = { MONGODB_URI: uri.toString(), GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64') };
    const first = await startGateway(env);
    t.teardown(() => first.close());
    const second = await startGateway(env);
    t.teardown(() => second.close());
    const { key } = await serviceKey(first);
    const trace = randomUUID();
    const log = (n: number) => ({
      request: { url: 'https://api.openai.com/v1/chat/completions', body: { model: 'gpt-4o', n } },
      response: { body: { usage: { prompt_tokens: 1000, completion_tokens: 100 }, said: `answer ${n}` } },
      metadata: { trace_id: trace, span_id: `s${n}`, ...(n > 0 ? { parent_span_id: 's0' } : {}), n },
    });
    const body = Array.from({ length: 30 }, (_, n) => log(n)) as never;
    const { ids } = await ok(first, 'POST', '/logs', { key, body });
    const known = (ids as string[]).toSorted();
    t.is(new Set(known).size, 30);

    const page = await ok(second, 'GET', `/logs?trace_id=${trace}&page_size=20`);
    t.like(page, { total: 30, total_capped: false });
    const rest = await ok(
      second,
      'GET',
      `/logs?trace_id=${trace}&page_size=20&after=${encodeURIComponent(String(page.next))}`,
    );
    const listed = [...(page.data as Json[]), ...(rest.data as Json[])].map(({ id }) => String(id));
    t.deepEqual(listed.toSorted(), known);
    t.is((await ok(second, 'GET', `/logs?metadata={"n":"7"}&trace_id=${trace}`)).total, 1);
    const detail = await ok(second, 'GET', `/logs/${listed[0]}`);
    t.true(JSON.stringify(detail).includes('answer '));
    const shown = await ok(second, 'GET', `/traces/${trace}`);
    t.like(shown, { requests: 30, cost: 10.5, truncated: false });

    const given = await ok(second, 'POST', '/feedback', {
      key,
      body: { trace_id: trace, value: 10, weight: 0.5 },
    });
    await ok(first, 'PUT', `/feedback/${(given.feedback_ids as string[])[0]}`, { key, body: { value: 4 } });
    t.is(
      (await ok(first, 'GET', `/logs?trace_id=${trace}&weighted_feedback_min=2&weighted_feedback_max=2`))
        .total,
      30,
    );

    const asked = { filters: { trace_id: trace }, requested_data: ['id', 'response', 'cost'] };
    const { id } = await ok(first, 'POST', '/logs/exports', { body: asked });
    await ok(second, 'POST', `/logs/exports/${id}/start`);
    await eventually(
      'the end of the export',
      async () => (await ok(first, 'GET', `/logs/exports/${id}`)).status !== 'in_progress',
    );
    t.like(await ok(first, 'GET', `/logs/exports/${id}`), { status: 'success', total_records: 30 });
    const { signed_url } = await ok(first, 'GET', `/logs/exports/${id}/download`);
    // An address of one instance holds at the other.
    for (const { origin } of [first, second]) {
      const file = await fetch(origin + new URL(String(signed_url)).pathname);
      const lines = (await file.text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Json);
      t.deepEqual(lines.map(({ id }) => String(id)).toSorted(), known);
      for (const line of lines) t.like(line, { cost: 0.35, response: { status: 200 } });
      t.regex(JSON.stringify(lines[0]), /answer \d/);
    }
  });
