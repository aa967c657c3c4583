// Images that a chat answers with, in forms that have another place for them or none: never an empty answer.
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import type { Json } from '../support/limits-client.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

const image = (url: string): Json => ({ type: 'image_url', image_url: { url } });
const IMAGES = [image('data:image/png;base64,AAAA'), image('https://images.example/b.png')];

async function ask(path: string, stream: boolean): Promise<{ json: Json; events: Json[] }> {
  const message = { role: 'assistant', content: null, images: IMAGES };
  const choice = (one: Json): Json => ({ id: 'c1', model: 'm', created: 1, choices: [{ index: 0, ...one }] });
  const provider = await startScriptedProvider(
    stream
      ? { events: [choice({ delta: message }), choice({ delta: {}, finish_reason: 'stop' }), '[DONE]'] }
      : { json: { object: 'chat.completion', ...choice({ message, finish_reason: 'stop' }) } },
  );
  const turn = [{ role: 'user', content: 'draw' }];
  const input = path === '/responses' ? { input: turn } : { messages: turn, max_tokens: 9 };
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({
        provider: 'openai-compatible',
        api_key: 'k',
        custom_host: provider.origin,
      }),
    },
    body: JSON.stringify({ model: 'm', stream, ...input }),
  });
  const text = await answer.text();
  provider.close();
  const events = text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
  return { json: text.startsWith('{') ? JSON.parse(text) : {}, events };
}

for (const stream of [false, true]) {
  const way = stream ? 'streamed' : 'whole';

  test(`a response has the item of OpenAI's own tool, ${way}`, async (t) => {
    const { json, events } = await ask('/responses', stream);
    const response = (stream ? events.at(-1)!.response : json) as Json;
    const [said, drawn, ...more] = response.output as Json[];
    t.deepEqual(more, []);
    t.is((said!.content as Json[])[0]!.text, '![image](https://images.example/b.png)');
    t.like(drawn, { type: 'image_generation_call', status: 'completed', result: 'AAAA' });
    if (!stream) return;
    const told = events.filter(({ output_index: at }) => at === 1).map(({ type }) => type);
    t.deepEqual(told, [
      'response.output_item.added',
      'response.image_generation_call.in_progress',
      'response.image_generation_call.completed',
      'response.output_item.done',
    ]);
  });

  test(`a message says that there is one, ${way}`, async (t) => {
    const { json, events } = await ask('/messages', stream);
    const text = stream
      ? events.map(({ delta }) => (delta as Json | undefined)?.text ?? '').join('')
      : (json.content as Json[]).map((block) => block.text).join('');
    t.is(text, '[an image, which this form cannot carry]\n![image](https://images.example/b.png)');
  });
}
