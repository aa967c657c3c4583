// A provider that plays a task of several turns with an agent: it calls the agent's shell until it has seen enough
// results, then says that it is done. It speaks Responses and chat completions, streamed as agents ask for it.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Record<string, unknown>;

/** The agents' own shells, and how each is called. */
const SHELLS: Readonly<Record<string, (command: string) => Json>> = {
  exec_command: (cmd) => ({ cmd }),
  shell_command: (command) => ({ command }),
  shell: (command) => ({ command: ['bash', '-lc', command] }),
};
/** Turns with a call, before the last one. */
export const CALLS = 4;

export interface ScriptedProvider {
  readonly origin: string;
  /** Bodies of the turns, in order. */
  readonly turns: Json[];
  close(): Promise<void>;
}

/** Starts it on a free port of the loopback. */
export async function startScriptedProvider(): Promise<ScriptedProvider> {
  const turns: Json[] = [];
  const server = http.createServer((req, res) => {
    let text = '';
    req.on('data', (piece: Buffer) => {
      text += String(piece);
    });
    req.on('end', () => {
      const path = (req.url ?? '').split('?')[0]!;
      if (req.method !== 'POST') {
        res.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"none"}}');
        return;
      }
      const body = JSON.parse(text) as Json;
      turns.push(body);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      if (path.endsWith('/responses')) responses(res, body, turns.length);
      else chat(res, body, turns.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    turns,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The next call, or undefined when the task is done. */
function nextCall(tools: readonly string[], results: number): { name: string; args: string } | undefined {
  const name = tools.find((tool) => tool in SHELLS);
  if (results >= CALLS || name === undefined) return undefined;
  return { name, args: JSON.stringify(SHELLS[name]!(`echo turn-${results + 1}`)) };
}

function responses(res: http.ServerResponse, body: Json, turn: number): void {
  const input = (body.input ?? []) as Json[];
  const results = input.filter(({ type }) => type === 'function_call_output').length;
  const call = nextCall(
    (body.tools as Json[]).map(({ name }) => String(name)),
    results,
  );
  const id = `resp_${turn}`;
  const item: Json =
    call === undefined
      ? {
          id: `msg_${turn}`,
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'all done', annotations: [] }],
        }
      : {
          id: `fc_${turn}`,
          type: 'function_call',
          status: 'completed',
          call_id: `call_${turn}`,
          name: call.name,
          arguments: call.args,
        };
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  };
  const head = {
    id,
    object: 'response',
    created_at: 1,
    model: body.model,
    output: [],
    status: 'in_progress',
  };
  const events: Json[] = [
    { type: 'response.created', response: head },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...head, status: 'completed', output: [item], usage } },
  ];
  events.forEach((event, i) => {
    res.write(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: i })}\n\n`);
  });
  res.end();
}

function chat(res: http.ServerResponse, body: Json, turn: number): void {
  const messages = body.messages as Json[];
  const results = messages.filter(({ role }) => role === 'tool').length;
  const tools = ((body.tools ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name);
  const call = nextCall(tools, results);
  const chunk = (choices: Json[], more: Json = {}): void => {
    const head = { id: `c${turn}`, object: 'chat.completion.chunk', created: 1, model: body.model };
    res.write(`data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`);
  };
  const delta = (piece: Json, finish: string | null = null): void =>
    chunk([{ index: 0, delta: piece, finish_reason: finish }]);
  if (call === undefined) {
    delta({ role: 'assistant', content: 'all ' });
    delta({ content: 'done' });
    delta({}, 'stop');
  } else {
    const half = Math.floor(call.args.length / 2);
    const named = { name: call.name, arguments: '' };
    delta({ tool_calls: [{ index: 0, id: `call_${turn}`, type: 'function', function: named }] });
    delta({ tool_calls: [{ index: 0, function: { arguments: call.args.slice(0, half) } }] });
    delta({ tool_calls: [{ index: 0, function: { arguments: call.args.slice(half) } }] });
    delta({}, 'tool_calls');
  }
  chunk([], { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
  res.end('data: [DONE]\n\n');
}
