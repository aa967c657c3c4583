// The turns of the scripted provider as streams of each wire: a call of a tool, or the last words.
import type { ScriptedCall } from './scripted-provider.ts';

type Json = Record<string, unknown>;

const WORDS = 'all done';
const named = (events: readonly Json[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

export function responsesEvents(call: ScriptedCall | undefined, turn: number, model: string): string {
  const item = itemOf(call, turn);
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  };
  const head = {
    id: `resp_${turn}`,
    object: 'response',
    created_at: 1,
    model,
    output: [],
    status: 'in_progress',
  };
  const events: Json[] = [
    { type: 'response.created', response: head },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...head, status: 'completed', output: [item], usage } },
  ];
  return named(events.map((event, i) => ({ ...event, sequence_number: i })));
}

function itemOf(call: ScriptedCall | undefined, turn: number): Json {
  if (call === undefined)
    return {
      id: `msg_${turn}`,
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: WORDS, annotations: [] }],
    };
  const { name, args, input } = call;
  const of = { id: `fc_${turn}`, status: 'completed', call_id: `call_${turn}`, name };
  return input === undefined
    ? { ...of, type: 'function_call', arguments: args }
    : { ...of, id: `ctc_${turn}`, type: 'custom_tool_call', input };
}

export function chatEvents(call: ScriptedCall | undefined, turn: number, model: string): string {
  const chunk = (choices: readonly Json[], more: Json = {}): string =>
    `data: ${JSON.stringify({ id: `c${turn}`, object: 'chat.completion.chunk', created: 1, model, choices, ...more })}\n\n`;
  const delta = (piece: Json, finish: string | null = null): string =>
    chunk([{ index: 0, delta: piece, finish_reason: finish }]);
  const usage = chunk([], { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
  const said = (pieces: readonly string[]): string => `${pieces.join('')}${usage}data: [DONE]\n\n`;
  if (call === undefined)
    return said([
      delta({ role: 'assistant', content: 'all ' }),
      delta({ content: 'done' }),
      delta({}, 'stop'),
    ]);
  const half = Math.floor(call.args.length / 2);
  const first = {
    index: 0,
    id: `call_${turn}`,
    type: 'function',
    function: { name: call.name, arguments: '' },
  };
  return said([
    delta({ tool_calls: [first] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: call.args.slice(0, half) } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: call.args.slice(half) } }] }),
    delta({}, 'tool_calls'),
  ]);
}

export function anthropicEvents(call: ScriptedCall | undefined, turn: number, model: string): string {
  const usage = { input_tokens: 10, output_tokens: 1 };
  const message = { id: `msg_${turn}`, type: 'message', role: 'assistant', model, content: [], usage };
  const block =
    call === undefined
      ? { type: 'text', text: '' }
      : { type: 'tool_use', id: `toolu_${turn}`, name: call.name, input: {} };
  const half = Math.floor((call?.args.length ?? 0) / 2);
  const deltas =
    call === undefined
      ? [{ type: 'text_delta', text: WORDS }]
      : [call.args.slice(0, half), call.args.slice(half)].map((piece) => ({
          type: 'input_json_delta',
          partial_json: piece,
        }));
  return named([
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'ping' },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: call === undefined ? 'end_turn' : 'tool_use', stop_sequence: null },
      usage: { output_tokens: 5 },
    },
    { type: 'message_stop' },
  ]);
}
