// What one wire says and another has no word for is carried all the same: proofs of thoughts and sources behind Messages,
// images of an earlier answer in Responses, and a turn that Anthropic pauses.
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import type { Json } from '../support/limits-client.ts';
import { type Script, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

async function ask(provider: ScriptedProvider, id: string, path: string, body: Json): Promise<string> {
  const config = { provider: id, api_key: 'k', custom_host: provider.origin };
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
    },
    body: JSON.stringify({ model: 'm', ...body }),
  });
  return answer.text();
}

const eventsOf = (text: string): Json[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Json);

/** The content of a message, whole or put together from its events. */
function contentOf(text: string, stream: boolean): Json[] {
  if (!stream) return (JSON.parse(text) as Json).content as Json[];
  const blocks: Json[] = [];
  for (const event of eventsOf(text)) {
    const at = Number(event.index);
    if (event.type === 'content_block_start') blocks[at] = { ...(event.content_block as Json) };
    if (event.type !== 'content_block_delta') continue;
    const { type, citation, ...delta } = event.delta as Json;
    const block = blocks[at]!;
    if (type === 'citations_delta') block.citations = [...((block.citations ?? []) as Json[]), citation];
    else for (const [name, more] of Object.entries(delta)) block[name] = `${block[name] ?? ''}${more}`;
  }
  return blocks;
}

const TEXT = { type: 'reasoning.text', index: 0, format: 'anthropic-claude-v1' };
const CODE = { type: 'reasoning.encrypted', index: 1, data: 'ENC' };
const DETAILS = [{ ...TEXT, text: 'think more', signature: 'SIG' }, CODE];
const CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
const choice = (one: Json): Json => ({ id: 'c1', model: 'm', created: 1, choices: [{ index: 0, ...one }] });
const chat = (stream: boolean, message: Json, deltas: readonly Json[], reason: string): Script =>
  stream
    ? {
        events: [
          ...deltas.map((delta) => choice({ delta })),
          choice({ delta: {}, finish_reason: reason }),
          '[DONE]',
        ],
      }
    : { json: { object: 'chat.completion', ...choice({ message, finish_reason: reason }) } };

const asked = (provider: ScriptedProvider, role: string): Json =>
  (provider.asked.at(-1)!.messages as Json[]).find((message) => message.role === role)!;
const user = { role: 'user', content: 'hi' };

for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'whole';

  for (const [what, details, pieces] of [
    [
      'with words',
      DETAILS,
      [
        { role: 'assistant', reasoning: 'think ', reasoning_details: [{ ...TEXT, text: 'think ' }] },
        { reasoning: 'more', reasoning_details: [{ ...TEXT, text: 'more' }] },
        { reasoning_details: [{ ...TEXT, signature: 'SIG' }] },
        { reasoning_details: [CODE] },
        { tool_calls: [CALL] },
      ],
    ],
    ['encrypted alone', [CODE], [{ tool_calls: [CALL], reasoning_details: [CODE] }]],
    ['after the call', [CODE], [{ tool_calls: [CALL] }, { reasoning_details: [CODE] }]],
  ] as const)
    test(`reasoning_details ${what} go back behind Messages, ${how}`, async (t) => {
      const { index: _, ...call } = CALL;
      const message = { role: 'assistant', content: null, reasoning_details: details, tool_calls: [call] };
      const provider = await startScriptedProvider(chat(stream, message, pieces, 'tool_calls'));
      t.teardown(() => provider.close());
      const tools = [{ name: 'f', input_schema: { type: 'object' } }];
      const body = (messages: Json[]): Json => ({ max_tokens: 50, tools, stream, messages });
      const content = contentOf(
        await ask(provider, 'openai-compatible', '/messages', body([user])),
        stream,
      ).map((block) =>
        block.type === 'tool_use' ? { ...block, input: {}, partial_json: undefined } : block,
      );
      const result = {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'ok' }],
      };
      const again = body([user, { role: 'assistant', content }, result]);
      await ask(provider, 'openai-compatible', '/messages', again);
      t.deepEqual(asked(provider, 'assistant').reasoning_details, details);
      // Another service of the same wire, and Anthropic.
      await ask(provider, 'together-ai', '/messages', again);
      t.false('reasoning_details' in asked(provider, 'assistant'));
      await ask(provider, 'anthropic', '/messages', again);
      t.deepEqual(
        (asked(provider, 'assistant').content as Json[]).map(({ type }) => type),
        ['tool_use'],
      );
    });

  test(`sources of a chat's text are citations of a message, ${how}`, async (t) => {
    const source = (n: number): Json => ({
      type: 'url_citation',
      url_citation: { url: `https://a.example/${n}`, title: `A ${n}`, start_index: 0, end_index: 3 },
    });
    const message = { role: 'assistant', content: 'It is so.', annotations: [source(1), source(2)] };
    const pieces = [
      { role: 'assistant', content: 'It ' },
      { content: 'is so.', annotations: [source(1)] },
      { annotations: [source(2)] },
    ];
    const provider = await startScriptedProvider(chat(stream, message, pieces, 'stop'));
    t.teardown(() => provider.close());
    const body = (messages: Json[]): Json => ({ max_tokens: 50, stream, messages });
    const content = contentOf(await ask(provider, 'openai-compatible', '/messages', body([user])), stream);
    t.is(content.length, 1);
    t.like(content[0], { type: 'text', text: 'It is so.' });
    const citations = content[0]!.citations as Json[];
    t.deepEqual(
      citations.map(({ type, url, title }) => [type, url, title]),
      [1, 2].map((n) => ['web_search_result_location', `https://a.example/${n}`, `A ${n}`]),
    );
    // Anthropic refuses indexes that are not its own.
    const turns = [user, { role: 'assistant', content }, user];
    await ask(provider, 'anthropic', '/messages', body(turns));
    t.deepEqual(asked(provider, 'assistant').content, [{ type: 'text', text: 'It is so.' }]);
    const own = { ...citations[0], encrypted_index: 'Eo8B' };
    const mixed = [{ ...content[0], citations: [...citations, own] }];
    await ask(provider, 'anthropic', '/messages', body([user, { role: 'assistant', content: mixed }, user]));
    t.deepEqual((asked(provider, 'assistant').content as Json[])[0]!.citations, [own]);
  });

  test(`a turn that Anthropic pauses is not told as a whole one, ${how}`, async (t) => {
    const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
    const usage = { input_tokens: 3, output_tokens: 2 };
    const provider = await startScriptedProvider(
      stream
        ? {
            events: [
              { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage } },
              { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
              { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } },
              { type: 'content_block_stop', index: 0 },
              { type: 'message_delta', delta: { stop_reason: 'pause_turn', stop_sequence: null }, usage },
              { type: 'message_stop' },
            ],
          }
        : {
            json: { ...head, content: [{ type: 'text', text: 'Half' }], stop_reason: 'pause_turn', usage },
          },
    );
    t.teardown(() => provider.close());
    const told = async (path: string, body: Json): Promise<Json> => {
      const text = await ask(provider, 'anthropic', path, { ...body, stream });
      return stream
        ? eventsOf(text).findLast((event) => event.usage === undefined || event.response)!
        : JSON.parse(text);
    };
    const response = await told('/responses', { input: 'hi' });
    t.like(stream ? response.response : response, {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    });
    const { choices } = await told('/chat/completions', { messages: [user] });
    t.is((choices as Json[])[0]!.finish_reason, 'length');
    const text = await ask(provider, 'anthropic', '/messages', { messages: [user], max_tokens: 5, stream });
    t.regex(text, /"stop_reason":"pause_turn"/);
  });
}

test('images of an earlier answer are shown again', async (t) => {
  const message = { role: 'assistant', content: 'Blue.' };
  const provider = await startScriptedProvider(chat(false, message, [], 'stop'));
  t.teardown(() => provider.close());
  const image = { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'iVBORw0KGgo=' };
  const said = { role: 'assistant', content: [{ type: 'output_text', text: 'Here.' }] };
  await ask(provider, 'mistral-ai', '/responses', {
    input: [user, said, image, { role: 'user', content: 'Bluer' }],
  });
  const messages = provider.asked.at(-1)!.messages as Json[];
  t.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'user', 'user'],
  );
  t.deepEqual((messages[2]!.content as Json[])[1], {
    type: 'image_url',
    image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' },
  });
});
