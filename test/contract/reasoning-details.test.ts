// `reasoning_details` of a chat wire behind Responses: what proves a thought goes back to the provider that gave it, alone.
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import type { Json } from '../support/limits-client.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

const TEXT = { type: 'reasoning.text', index: 0, format: 'anthropic-claude-v1' };
const CODE = { type: 'reasoning.encrypted', index: 1, data: 'ENC' };
const WHOLE = [{ ...TEXT, text: 'think more', signature: 'SIG' }, CODE];
const CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
const PIECES: readonly Json[] = [
  { role: 'assistant', reasoning: 'think ', reasoning_details: [{ ...TEXT, text: 'think ' }] },
  { reasoning: 'more', reasoning_details: [{ ...TEXT, text: 'more' }] },
  { reasoning_details: [{ ...TEXT, signature: 'SIG' }] },
  { reasoning_details: [CODE] },
  { tool_calls: [CALL] },
];
const choice = (one: Json): Json => ({ id: 'c1', model: 'm', created: 1, choices: [{ index: 0, ...one }] });

for (const stream of [false, true])
  test(`they go back as they came, ${stream ? 'streamed' : 'whole'}`, async (t) => {
    const { index: _, ...call } = CALL;
    const message = { role: 'assistant', content: null, reasoning_details: WHOLE, tool_calls: [call] };
    const provider = await startScriptedProvider(
      stream
        ? {
            events: [
              ...PIECES.map((delta) => choice({ delta })),
              choice({ delta: {}, finish_reason: 'tool_calls' }),
              '[DONE]',
            ],
          }
        : { json: { object: 'chat.completion', ...choice({ message, finish_reason: 'tool_calls' }) } },
    );
    t.teardown(() => provider.close());
    const ask = async (id: string, input: Json[]): Promise<Json[]> => {
      const config = { provider: id, api_key: 'k', custom_host: provider.origin };
      const answer = await fetch(`${gateway.origin}/v1/responses`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${WORKSPACE_KEY}`,
          'content-type': 'application/json',
          'x-gateway-config': JSON.stringify(config),
        },
        body: JSON.stringify({
          model: 'm',
          stream,
          store: false,
          input,
          tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
        }),
      });
      const text = await answer.text();
      const last = stream
        ? text
            .split('\n')
            .findLast((line) => line.startsWith('data: {'))!
            .slice(6)
        : text;
      const json = JSON.parse(last) as Json;
      return ((stream ? json.response : json) as Json).output as Json[];
    };
    const user = { role: 'user', content: 'hi' };
    const output = await ask('openai-compatible', [user]);
    t.deepEqual(
      output.map(({ type }) => type),
      ['reasoning', 'function_call'],
    );
    const result = { type: 'function_call_output', call_id: 'call_1', output: 'ok' };
    const assistant = (): Json =>
      (provider.asked.at(-1)!.messages as Json[]).find(({ role }) => role === 'assistant')!;
    await ask('openai-compatible', [user, ...output, result]);
    t.deepEqual(assistant().reasoning_details, WHOLE);
    // Another service of the same wire.
    await ask('together-ai', [user, ...output, result]);
    t.false('reasoning_details' in assistant());
  });
