// Streams of providers that speak the form themselves come out byte for byte: events, items, blocks and members of the
// usage that nobody here knows included.
import test from 'ava';
import { type Bench, raw, startBench } from './runner.ts';

type Json = Record<string, unknown>;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

async function sameBytes(provider: string, path: string, body: Json, events: readonly Json[]) {
  const mark = bench.mark();
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  const upstream = provider === 'anthropic' ? `/v1${path}` : path;
  for (const at of [mark + path, mark + upstream])
    bench.provider.next(at, (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
    });
  const answer = await raw(bench.gateway.origin, {
    method: 'POST',
    path: `/v1${path}`,
    headers: {
      ...bench.headers(mark),
      'x-gateway-provider': provider,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ ...body, stream: true }),
  });
  return { answer, text };
}

test('Responses', async (t) => {
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'in_progress',
    model: 'm',
    output: [],
  };
  const items = [
    ...['mcp_call', 'code_interpreter_call', 'image_generation_call', 'computer_call', 'web_search_call'],
    ...['shell_call', 'of_tomorrow'],
  ].map((type, i) => ({ type, id: `item_${i}`, status: 'completed', own: { a: [1, null] } }));
  const details = { cached_tokens: 0, of_tomorrow: 'x' };
  const usage = {
    input_tokens: 1,
    output_tokens: 1,
    total_tokens: 2,
    own: {},
    input_tokens_details: details,
  };
  const { answer, text } = await sameBytes('openai', '/responses', { model: 'm', input: 'x' }, [
    { type: 'response.created', sequence_number: 0, response },
    { type: 'response.of_tomorrow', sequence_number: 1, anything: { b: 1.5 } },
    ...items.flatMap((item, i) => [
      { type: 'response.output_item.added', sequence_number: 2 + 2 * i, output_index: i, item },
      { type: 'response.output_item.done', sequence_number: 3 + 2 * i, output_index: i, item },
    ]),
    { type: 'keepalive', sequence_number: 16 },
    {
      type: 'response.completed',
      sequence_number: 17,
      response: { ...response, status: 'completed', output: items, usage },
    },
  ]);
  t.is(answer.status, 200, answer.text);
  t.is(answer.text, text);
});

test('Messages', async (t) => {
  const blocks: Json[] = [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result' }] },
    { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'x', server_name: 'y', input: {} },
    { type: 'container_upload', file_id: 'file_1' },
    { type: 'redacted_thinking', data: 'abc' },
    { type: 'of_tomorrow', anything: 1 },
  ];
  const usage = {
    input_tokens: 1,
    output_tokens: 1,
    own: { x: 'y' },
    server_tool_use: { web_search_requests: 1 },
  };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage };
  const asked = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] };
  const { answer, text } = await sameBytes('anthropic', '/messages', asked, [
    { type: 'message_start', message },
    { type: 'ping' },
    ...blocks.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'event_of_tomorrow', x: 1 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'pause_turn', stop_sequence: null, container: { id: 'c' } },
      usage: { output_tokens: 3, iterations: [{ type: 'message', input_tokens: 1, output_tokens: 3 }] },
    },
    { type: 'message_stop' },
  ]);
  t.is(answer.status, 200, answer.text);
  t.is(answer.text, text);
});
