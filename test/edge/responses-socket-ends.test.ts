// Responses over WebSocket that are still running when the gateway's drain is over.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { WebSocket } from 'ws';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient } from '../support/limits-client.ts';

/** A provider that begins to answer in its own form, and never ends; of the model `mute` it says nothing at all. */
let server: http.Server;
let origin = '';
test.before(async () => {
  server = http.createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    req.on('end', () => {
      if ((JSON.parse(body) as Json).model === 'mute') {
        server.emit('muted');
        return;
      }
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const events = req.url?.endsWith('/responses') ? responsesBegin() : chatBegin();
      for (const event of events) res.write(`data: ${JSON.stringify(event)}\n\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
test.after.always(() => {
  server.closeAllConnections();
  server.close();
});

function responsesBegin(): Json[] {
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', model: 'gpt-4o', output: [] };
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  return [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.content_part.added', ...at, part },
    { type: 'response.output_text.delta', ...at, delta: 'begun', logprobs: [] },
  ].map((event, i) => ({ ...event, sequence_number: i }));
}

function chatBegin(): Json[] {
  const chunk = (delta: Json): Json => ({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-4o',
    choices: [{ index: 0, delta, finish_reason: null }],
  });
  return [chunk({ role: 'assistant', content: '' }), chunk({ content: 'begun' })];
}

async function opened(gateway: TestGateway, wire: string, traceId: string): Promise<WebSocket> {
  const ws = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/responses`, {
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'x-gateway-trace-id': traceId,
      'x-gateway-config': JSON.stringify({ provider: wire, api_key: 'sk-provider', custom_host: origin }),
    },
  });
  await once(ws, 'open');
  return ws;
}

for (const { wire, model } of [
  { wire: 'openai', model: 'gpt-4o' },
  { wire: 'openai-compatible', model: 'gpt-4o' },
  { wire: 'openai', model: 'mute' },
]) {
  test(`${wire}, ${model}: an error event and 1012, and the call is in the books`, async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'sluice-test-'));
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
    const env = { GATEWAY_DATA_DIR: dataDir, GATEWAY_DRAIN_SECONDS: '1' };
    const gateway = await startGateway(env);
    const ws = await opened(gateway, wire, 'outlives');
    const events: Json[] = [];
    const asked = once(server, 'muted');
    const begun = new Promise<void>((resolve) => {
      ws.on('message', (data) => {
        const event = JSON.parse(String(data)) as Json;
        events.push(event);
        if (event.type === 'response.output_text.delta') resolve();
      });
    });
    const closed = once(ws, 'close') as Promise<[number, Buffer]>;
    ws.send(JSON.stringify({ type: 'response.create', model, input: 'hi' }));
    await (model === 'mute' ? asked : begun);
    await gateway.close();
    const [code] = await closed;
    t.is(code, 1012);
    const last = events.at(-1) as Json;
    const error = (last.type === 'response.failed' ? (last.response as Json).error : last.error) as Json;
    t.regex(String(error?.message), /gateway is stopping/, JSON.stringify(last));
    t.is(events.filter(({ type }) => /failed|error/.test(String(type))).length, 1);

    const next = await startGateway(env);
    t.teardown(() => next.close());
    const [entry, ...more] = await limitsClient(next, { origin } as never).logs('outlives');
    t.deepEqual(more, []);
    const outcome = model === 'mute' ? 'error' : 'interrupted';
    t.like(entry, { status_code: 503, outcome, error: { reason: 'overloaded' } });
    if (model !== 'mute') t.like(entry, { usage_estimated: true });
  });
}
