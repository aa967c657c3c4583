// Asynchronous guardrails through the front door: what they come to is in the one entry of their call, whenever it comes.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/eventually.ts';
import { type Answer, type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { type Json, ok } from '../support/front-door.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  provider = await startFakeProvider();
  gateway = await startGateway();
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

interface Asked {
  readonly id: string;
  readonly trace: string;
  /** Lets the webhook say its verdict. */
  readonly judge: (verdict: boolean) => void;
}

/** A chat completion with an asynchronous webhook on one side, answered before the webhook has said anything. */
async function asked(
  t: ExecutionContext,
  side: 'input_guardrails' | 'output_guardrails',
  { stream = false, headers = {} }: { stream?: boolean; headers?: Record<string, string> } = {},
): Promise<Asked> {
  const trace = randomUUID();
  const path = `/judge-${trace}`;
  let judge: (verdict: boolean) => void = () => {};
  const judged = new Promise<boolean>((resolve) => {
    judge = resolve;
  });
  const answer: Answer = async (_req, res) => {
    const verdict = await judged;
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ verdict, data: { repeated: `it was said with ${WORKSPACE_KEY}` } }));
  };
  provider.next(path, answer);
  const slow = { webhookURL: provider.origin + path, timeout: 20_000 };
  const config = {
    provider: 'openai',
    api_key: 'k1',
    custom_host: `${provider.origin}/v1`,
    [side]: [
      { async: true, 'default.webhook': slow },
      { 'default.contains': { words: ['x'], operator: 'none' } },
    ],
  };
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
      'x-gateway-trace-id': trace,
      ...headers,
    },
    body: JSON.stringify({ model: 'gpt-ok', stream, messages: [{ role: 'user', content: 'hi' }] }),
  });
  await response.text();
  t.is(response.status, 200);
  return { id: response.headers.get('x-gateway-request-id') ?? '', trace, judge };
}

const verdictsOf = ({ entry }: Json): unknown[] =>
  ((entry as Json).spans as Json[]).filter(({ kind }) => kind === 'guardrail').map(({ verdict }) => verdict);

async function until(of: () => Promise<Json>, holds: (json: Json) => boolean): Promise<Json> {
  return eventually('what the entry is to hold', async () => {
    const json = await of();
    return holds(json) && json;
  });
}

for (const side of ['input_guardrails', 'output_guardrails'] as const)
  for (const stream of [false, true])
    test(`a verdict behind the answer is in its entry: ${side}${stream ? ', streamed' : ''}`, async (t) => {
      const { id, trace, judge } = await asked(t, side, { stream });
      const read = () => ok(gateway, 'GET', `/logs/${id}`);
      const open = await read();
      t.deepEqual(verdictsOf(open), ['pending', 'passed']);
      const name = side === 'input_guardrails' ? 'before' : 'after';
      t.like((open.hook_results as Json)[name], [{ skipped: true, async: true }, { verdict: true }]);
      judge(false);
      const judged = await until(read, (json) => !verdictsOf(json).includes('pending'));
      t.deepEqual(verdictsOf(judged), ['failed', 'passed']);
      const results = (judged.hook_results as Json)[name] as Json[];
      t.is(results.length, 2);
      t.like(results[0], {
        verdict: false,
        async: true,
        checks: [{ id: 'default.webhook', verdict: false }],
      });
      t.false(JSON.stringify(judged).includes(WORKSPACE_KEY), 'secrets are masked in it');
      t.true(JSON.stringify(results[0]).includes('it was said with ***'));
      const { spans } = await ok(gateway, 'GET', `/traces/${trace}`);
      const guardrails = (spans as Json[]).filter(({ kind }) => kind === 'guardrail');
      t.deepEqual(guardrails.map(({ outcome }) => outcome).sort(), ['failed', 'passed']);
      t.true(guardrails.every(({ latency_ms }) => typeof latency_ms === 'number'));
      t.is((await ok(gateway, 'GET', `/logs?trace_id=${trace}`)).total, 1);
      const { hook_results: alone } = await ok(gateway, 'GET', `/logs/${id}?type=hooks`);
      t.deepEqual(alone, judged.hook_results);
    });

test('where nothing that is said is kept, the verdict is', async (t) => {
  const { id, judge } = await asked(t, 'output_guardrails', { headers: { 'x-gateway-debug': 'false' } });
  judge(true);
  const read = () => ok(gateway, 'GET', `/logs/${id}`);
  const judged = await until(read, (json) => !verdictsOf(json).includes('pending'));
  t.deepEqual(verdictsOf(judged), ['passed', 'passed']);
  t.is(judged.hook_results, undefined);
});

test('a verdict that is there before the end of the call is written with the entry', async (t) => {
  const trace = randomUUID();
  const contains = { 'default.contains': { words: ['nothing'], operator: 'none' } };
  const config = {
    provider: 'openai',
    api_key: 'k1',
    custom_host: `${provider.origin}/v1`,
    input_guardrails: [{ async: true, ...contains }],
  };
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
      'x-gateway-trace-id': trace,
    },
    body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] }),
  });
  await response.text();
  const { data } = await ok(gateway, 'GET', `/logs?trace_id=${trace}`);
  const [entry] = data as Json[];
  t.deepEqual(verdictsOf({ entry }), ['passed']);
});
