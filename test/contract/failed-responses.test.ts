// A provider's own response that fails before it says anything: an error, so that another target may answer.
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient } from '../support/limits-client.ts';
import { type Script, startScriptedProvider } from '../support/scripted-provider.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

const HEAD = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'in_progress',
  model: 'm',
  output: [],
};
const BEGUN = [
  { type: 'response.created', response: HEAD, sequence_number: 0 },
  { type: 'response.in_progress', response: HEAD, sequence_number: 1 },
];
const failed = (code: string): Json => ({
  type: 'response.failed',
  response: { ...HEAD, status: 'failed', error: { code, message: 'no luck' }, usage: null },
  sequence_number: 9,
});
const COMPLETED = {
  type: 'response.completed',
  response: { ...HEAD, status: 'completed', usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } },
  sequence_number: 2,
};

async function ask(scripts: readonly Script[], traceId: string): Promise<{ status: number; text: string }> {
  const providers = await Promise.all(scripts.map((script) => startScriptedProvider(script)));
  const targets = providers.map(({ origin }) => ({ provider: 'openai', api_key: 'k', custom_host: origin }));
  const answer = await fetch(`${gateway.origin}/v1/responses`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'content-type': 'application/json',
      'x-gateway-trace-id': traceId,
      'x-gateway-config': JSON.stringify({ strategy: { mode: 'fallback' }, targets }),
    },
    body: JSON.stringify({ model: 'm', input: 'hi', stream: true }),
  });
  const text = await answer.text();
  for (const provider of providers) provider.close();
  return { status: answer.status, text };
}

for (const [code, status] of [
  ['server_error', 502],
  ['rate_limit_exceeded', 429],
] as const)
  test(`${code} is in the books as a ${status}, its usage an estimate`, async (t) => {
    const answer = await ask([{ events: [...BEGUN, failed(code)] }], `failed-${code}`);
    t.regex(answer.text, /"type":"response\.failed".*no luck/);
    const [entry] = await limitsClient(gateway, { origin: '' } as never).logs(`failed-${code}`);
    t.like(entry, { status_code: status, outcome: 'interrupted', usage_estimated: true });
  });

test('another target answers', async (t) => {
  const scripts = [{ events: [...BEGUN, failed('server_error')] }, { events: [...BEGUN, COMPLETED] }];
  const { status, text } = await ask(scripts, 'failed-over');
  t.is(status, 200);
  t.regex(text, /response\.completed/);
  t.notRegex(text, /response\.failed/);
});

test('one that has said something tells of its end itself', async (t) => {
  const item = { id: 'm1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
  const said = { type: 'response.output_item.added', output_index: 0, item, sequence_number: 2 };
  const delta = {
    type: 'response.output_text.delta',
    item_id: 'm1',
    output_index: 0,
    content_index: 0,
    delta: 'x',
  };
  const { status, text } = await ask(
    [{ events: [...BEGUN, said, delta, failed('server_error')] }],
    'failed-late',
  );
  t.is(status, 200);
  t.regex(text, /"type":"response\.failed".*no luck/);
});
