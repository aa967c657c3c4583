// A provider's own Responses API, for tests: it keeps what it makes, and answers with text or with calls of tools.
import type { IncomingMessage, ServerResponse } from 'node:http';

type Json = Record<string, unknown>;

const TEXT = 'Hello, wörld! 👋';
export const RESPONSES_USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 3 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 18,
};

/** Answers what is below /responses; the made ones are kept in `made`. */
export function fakeResponses(made: Map<string, Json>) {
  let count = 0;
  return (req: IncomingMessage, res: ServerResponse, path: string, request: Json): void => {
    const id = /\/responses\/([^/]+)/.exec(path)?.[1];
    if (id === 'compact' && req.method === 'POST') {
      send(res, 200, {
        id: 'resp_compacted',
        object: 'response.compaction',
        created_at: 1,
        output: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'short' }],
        usage: RESPONSES_USAGE,
      });
      return;
    }
    if (id !== undefined) {
      keptOne(req, res, path, made, id);
      return;
    }
    const previous = request.previous_response_id;
    if (typeof previous === 'string' && !made.has(previous)) {
      const message = `Previous response with id '${previous}' not found.`;
      send(res, 400, {
        error: { message, type: 'invalid_request_error', code: 'previous_response_not_found' },
      });
      return;
    }
    const response = answered(`resp_native_${++count}`, request);
    if (request.store !== false) made.set(String(response.id), response);
    if (request.stream === true) stream(res, response, String(request.model));
    else send(res, 200, response);
  };
}

function keptOne(
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  made: Map<string, Json>,
  id: string,
): void {
  const response = made.get(id);
  if (response === undefined) {
    send(res, 404, {
      error: { message: `no ${id}`, type: 'invalid_request_error', param: null, code: null },
    });
    return;
  }
  if (req.method === 'DELETE') {
    made.delete(id);
    send(res, 200, { id, object: 'response', deleted: true });
  } else if (/[?&]stream=true/.test(req.url ?? ''))
    stream(res, response, '', Number(/starting_after=(\d+)/.exec(req.url ?? '')?.[1] ?? -1));
  else if (path.endsWith('/input_items'))
    send(res, 200, {
      object: 'list',
      data: [{ type: 'message', id: 'msg_in', role: 'user' }],
      has_more: false,
    });
  else send(res, 200, path.endsWith('/cancel') ? { ...response, status: 'cancelled' } : response);
}

function answered(id: string, request: Json): Json {
  const tools = Array.isArray(request.tools) ? (request.tools as Json[]) : [];
  const input = Array.isArray(request.input) ? (request.input as Json[]) : [];
  const asksTool = tools.length > 0 && !input.some(({ type }) => String(type).endsWith('_output'));
  const output = asksTool
    ? [
        {
          id: 'fc_1',
          type: 'function_call',
          status: 'completed',
          call_id: 'call_1',
          name: tools[0]!.name,
          arguments: '{"city":"Zürich"}',
        },
      ]
    : [
        {
          id: 'msg_1',
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: TEXT, annotations: [], logprobs: [] }],
        },
      ];
  return {
    id,
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    model: request.model,
    output,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: true,
    previous_response_id: request.previous_response_id ?? null,
    store: request.store ?? true,
    tool_choice: 'auto',
    tools,
    usage: RESPONSES_USAGE,
  };
}

function stream(res: ServerResponse, response: Json, model: string, after = -1): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  const events: Json[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
  ];
  (response.output as Json[]).forEach((item, at) => {
    const of = { item_id: item.id, output_index: at };
    if (item.type === 'function_call') {
      events.push(
        { type: 'response.output_item.added', output_index: at, item: { ...item, arguments: '' } },
        { type: 'response.function_call_arguments.delta', ...of, delta: String(item.arguments) },
        { type: 'response.function_call_arguments.done', ...of, arguments: item.arguments, name: item.name },
      );
    } else {
      const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
      events.push(
        { type: 'response.output_item.added', output_index: at, item: { ...item, content: [] } },
        { type: 'response.content_part.added', ...of, content_index: 0, part },
        ...[...TEXT].map((delta) => ({
          type: 'response.output_text.delta',
          ...of,
          content_index: 0,
          delta,
          logprobs: [],
        })),
        { type: 'response.output_text.done', ...of, content_index: 0, text: TEXT, logprobs: [] },
        { type: 'response.content_part.done', ...of, content_index: 0, part: { ...part, text: TEXT } },
      );
    }
    events.push({ type: 'response.output_item.done', output_index: at, item });
  });
  if (model === 'cut') events.length = 5;
  else if (model === 'stream-error-later') {
    events.length = 5;
    events.push({ type: 'error', code: 'server_error', message: 'it broke', param: null });
  } else events.push({ type: 'response.completed', response });
  events.forEach((event, i) => {
    if (i <= after) return;
    res.write(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: i })}\n\n`);
  });
  if (model === 'cut') setTimeout(() => res.destroy(), 20);
  else res.end();
}

function send(res: ServerResponse, status: number, body: Json): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
