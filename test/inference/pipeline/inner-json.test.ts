// JSON in texts of requests and answers (tools' arguments and results) is cheap to send within a body that weighs nothing, and
// expensive to read: all of a request's texts have one bound together, in every translation that reads them.
import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../../support/gateway.ts';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFakeProvider(),
  ]);
});
test.after.always(async () => {
  await provider?.close();
  await gateway?.close();
});

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const oracle = {
  oracle_fingerprint: '11:22',
  oracle_user: 'ocid1.user.x',
  oracle_tenancy: 'ocid1.tenancy.x',
  oracle_private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  oracle_region: 'us-chicago-1',
  oracle_compartment_id: 'ocid1.compartment.x',
};
/** Providers whose wires take arguments as objects. */
const WIRES: readonly { readonly provider: string; readonly model: string; readonly more: object }[] = [
  { provider: 'anthropic', model: 'm', more: { api_key: 'k' } },
  { provider: 'google', model: 'm', more: { api_key: 'k' } },
  {
    provider: 'bedrock',
    model: 'm',
    more: { aws_access_key_id: 'a', aws_secret_access_key: 'b', aws_region: 'us-east-1' },
  },
  { provider: 'oracle', model: 'cohere.command-r', more: oracle },
];

const called = (id: string, args: string) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
});
const result = (id: string, content = 'x') => ({ role: 'tool', tool_call_id: id, content });

async function answerOf(wire: (typeof WIRES)[number], messages: readonly object[]) {
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-config': JSON.stringify({
        provider: wire.provider,
        custom_host: provider.origin,
        ...wire.more,
      }),
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: wire.model, messages }),
  });
  return { status: answer.status, text: await answer.text() };
}

const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;

for (const wire of WIRES) {
  test(`${wire.provider}: arguments that nest too deep to be written are a 400`, async (t) => {
    const { status, text } = await answerOf(wire, [
      { role: 'assistant', content: null, tool_calls: [called('c', nested(20_000))] },
      result('c'),
    ]);
    t.is(status, 400);
    t.regex(text, /tool_calls\[0\]\.function\.arguments/);
  });

  test(`${wire.provider}: arguments of many calls have one bound together`, async (t) => {
    const args = `{"a":[${'{},'.repeat(1300)}1]}`;
    const ids = Array.from({ length: 500 }, (_, i) => `c${i}`);
    const { status, text } = await answerOf(wire, [
      { role: 'assistant', content: null, tool_calls: ids.map((id) => called(id, args)) },
      ...ids.map((id) => result(id)),
    ]);
    t.is(status, 400);
    t.regex(text, /too many members and items, with those of the calls before it/);
  });

  test(`${wire.provider}: what a tool answered is never read beyond the bound`, async (t) => {
    for (const content of [nested(20_000), `{"a":[${'{},'.repeat(400_000)}1]}`]) {
      const { status } = await answerOf(wire, [
        { role: 'assistant', content: null, tool_calls: [called('c', '{}')] },
        result('c', content),
      ]);
      t.not(status, 500);
      t.not(status, 400);
    }
  });
}

test('oracle: a call that every result repeats counts each time', async (t) => {
  const wire = WIRES.find((one) => one.provider === 'oracle')!;
  const { status, text } = await answerOf(wire, [
    {
      role: 'assistant',
      content: null,
      tool_calls: [called('c', JSON.stringify({ a: 'x'.repeat(500_000) }))],
    },
    ...Array.from({ length: 500 }, () => result('c')),
  ]);
  t.is(status, 400);
  t.regex(text, /too many members and items/);
});
